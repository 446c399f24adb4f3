import LatewoodCrypto
import LatewoodFleece
import LatewoodHTTP

/// The page at `/_utils/`, on which a person works with databases and documents in a browser.
///
/// It is one text, without other files: a script writes `ConsoleSources.swift` from the files in
/// `Console/Page`. The script in the page uses the server's API like any other client.
///
/// What documents contain must never become markup or script in this page, which may do whatever
/// its user may do. Two things ensure that:
///
/// 1. The script adds texts as text nodes only, and never parses markup.
/// 2. The browser runs only the one script, and applies only the one style, whose hashes the policy
///    has. It sends requests only to this server, and does not show the page in a frame of another.
enum ConsolePage {
  /// The page in UTF-8.
  static let body = Array(
    [
      ConsoleSources.beforeStyle, ConsoleSources.style, ConsoleSources.beforeScript, ConsoleSources.script,
      ConsoleSources.afterScript,
    ].joined().utf8)

  /// The content security policy.
  static let policy = [
    "default-src 'none'",
    "script-src '\(source(ConsoleSources.script))'",
    "style-src '\(source(ConsoleSources.style))'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].joined(separator: "; ")

  /// A tag of the content: a browser keeps the page, and asks each time whether it is current.
  static let etag = "\"\(hash(body))\""

  static let fields = HTTPFields([
    ("Content-Type", "text/html; charset=utf-8"),
    ("ETag", etag),
    ("Cache-Control", "no-cache"),
    ("Content-Security-Policy", policy),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    // Not `no-referrer`: with it, some browsers send requests that change something with the origin
    // `null`, which the server refuses.
    ("Referrer-Policy", "same-origin"),
  ])

  /// Returns the source of an inline script or style for the policy.
  private static func source(_ text: String) -> String { "sha256-\(hash(Array(text.utf8)))" }

  /// Returns the SHA-256 of bytes in base64.
  private static func hash(_ bytes: [UInt8]) -> String {
    var hash = SHA256()
    bytes.withUnsafeBytes { hash.update($0) }
    return Base64.encode(hash.digest())
  }
}
