// The little of SwiftUI that the articles show, so that their views are compiled everywhere.

#if canImport(SwiftUI)
  @_exported import SwiftUI
#else
  @MainActor protocol View {
    associatedtype Body: View
    var body: Body { get }
  }

  extension Never: View {
    var body: Never { fatalError("a view without a body") }
  }

  @propertyWrapper struct State<Value> {
    var wrappedValue: Value
  }

  struct Text: View {
    init(_ text: String) {}
    var body: Never { fatalError("a view without a body") }
  }

  struct List<Row: View>: View {
    init<Data: RandomAccessCollection, ID: Hashable>(
      _ data: Data, id: KeyPath<Data.Element, ID>, row: (Data.Element) -> Row
    ) {}
    var body: Never { fatalError("a view without a body") }
  }
#endif
