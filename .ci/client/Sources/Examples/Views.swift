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
    var projectedValue: Binding<Value> { Binding() }
  }

  struct Binding<Value> {}

  extension View {
    func searchable(text: Binding<String>) -> some View { self }
    func onChange<Value: Equatable>(of value: Value, _ action: @escaping () -> Void) -> some View { self }
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
