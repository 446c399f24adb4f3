/// A pointer to a full key.
struct KeyPointer {
  let start: UnsafeRawPointer
  let count: Int
}
