#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Mathematics that the standard library leaves to C.
enum MathFunctions {
  static func power(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }
}

/// Formats numbers like C, because the files of results are shared with the peers' driver.
enum NumberFormat {
  /// Formats a number as `%.6g`.
  static func general(_ number: Double) -> String { formatted("%.6g", [number]) }

  /// Formats a number with `digits` decimals.
  static func fixed(_ number: Double, digits: Int) -> String { formatted("%.\(digits)f", [number]) }

  private static func formatted(_ format: String, _ arguments: [any CVarArg]) -> String {
    withVaList(arguments) { list in
      let text = [CChar](unsafeUninitializedCapacity: 64) { buffer, count in
        // SAFETY: vsnprintf writes at most the given capacity, including the zero at the end.
        let length = vsnprintf(buffer.baseAddress, buffer.count, format, list)
        count = max(0, min(Int(length), buffer.count - 1))
      }
      return String(decoding: text.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }
}
