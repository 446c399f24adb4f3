import LatewoodCrypto
import LatewoodFleece
import LatewoodHTTP

/// The page at `/_utils/`, on which a person works with databases and documents in a browser.
///
/// It is one text, which the server puts together from the files in `Console/Page`. SwiftPM embeds
/// them in the program. The script in the page uses the server's API like any other client.
///
/// The content of documents must never become markup or script in this page, which may do whatever
/// its user may do. Two things ensure that:
///
/// 1. The script adds texts as text nodes only, and never parses markup.
/// 2. The browser runs only the one script, and applies only the one style, whose hashes the policy
///    has. It sends requests only to this server, and does not show the page in a frame of another.
enum ConsolePage {
  /// The page in UTF-8.
  static let body = Array(
    text(PackageResources.page_html)
      .replacing("<style></style>", with: "<style>\(style)</style>")
      .replacing(
        "<script type=\"module\"></script>", with: "<script type=\"module\">\(script)</script>"
      ).utf8)

  /// The only style.
  static let style = text(PackageResources.page_css)

  /// The only script: the parts in the order in which they need each other.
  static let script = [
    PackageResources.json_js, PackageResources.elements_js, PackageResources.server_js,
    PackageResources.databases_js, PackageResources.documents_js, PackageResources.document_js,
    PackageResources.compare_js, PackageResources.page_js,
  ].map(text).joined(separator: "\n")

  /// The content security policy.
  static let policy = [
    "default-src 'none'",
    "script-src '\(source(script))'",
    "style-src '\(source(style))'",
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

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  /// Returns the source of an inline script or style for the policy.
  private static func source(_ text: String) -> String { "sha256-\(hash(Array(text.utf8)))" }

  /// Returns the SHA-256 of bytes in base64.
  private static func hash(_ bytes: [UInt8]) -> String {
    var hash = SHA256()
    bytes.withUnsafeBytes { hash.update($0) }
    return Base64.encode(hash.digest())
  }
}
