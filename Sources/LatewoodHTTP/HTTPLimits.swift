/// Limits on the memory that a peer can make a reader of messages use.
///
/// Bodies have no limit here, because a parser does not store them. Code that collects a body sets
/// its own limit.
package struct HTTPLimits: Sendable {
  /// The greatest length of a request line or status line, in bytes.
  package var startLine = 16 << 10
  /// The greatest length of all header fields of a message or part with their names, in bytes.
  package var fields = 64 << 10
  /// The greatest number of header fields of a message or part.
  package var fieldCount = 256
  /// The greatest length of the line that begins a chunk, in bytes.
  package var chunkLine = 1 << 10
  /// The greatest number of interim responses before the final one.
  package var interimResponses = 16
  /// The greatest length of the text before the first part of a multipart body, in bytes.
  package var preamble = 4 << 10

  package init() {}
}
