/// The result of a closure that a function calls once, unless it throws, without passing on the
/// result.
///
/// For functions that are not generic, because with a generic result each call would look up the
/// metadata of several types.
@frozen @usableFromInline package struct ClosureResult<R> {
  /// The result; nil until the closure has returned.
  @usableFromInline package var value: R?

  @inlinable @inline(__always) package init() {}

  /// Returns the result, after the function has returned.
  @inlinable @inline(__always) package func get() -> R {
    guard let value else { preconditionFailure("the function has not called its closure") }
    return value
  }
}
