// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// An engine to compare with: the import of its C library, and the package that contains it.
struct Peer {
  let module: String
  let header: String
  let pkgConfig: String?
  let debian: String
  let brew: String

  static let all = [
    Peer(
      module: "CSQLite", header: "sqlite3.h", pkgConfig: "sqlite3", debian: "libsqlite3-dev", brew: "sqlite"),
    Peer(module: "CLMDB", header: "lmdb.h", pkgConfig: "lmdb", debian: "liblmdb-dev", brew: "lmdb"),
    Peer(
      module: "CLevelDB", header: "leveldb/c.h", pkgConfig: nil, debian: "libleveldb-dev", brew: "leveldb"),
    Peer(
      module: "CRocksDB", header: "rocksdb/c.h", pkgConfig: "rocksdb", debian: "librocksdb-dev",
      brew: "rocksdb"),
    Peer(
      module: "CWiredTiger", header: "wiredtiger.h", pkgConfig: "wiredtiger", debian: "libwiredtiger-dev",
      brew: "wiredtiger"),
  ]

  /// Whether the compiler will find its header.
  var isInstalled: Bool {
    ["/usr/include/", "/usr/local/include/", "/opt/homebrew/include/"].contains {
      FileManager.default.fileExists(atPath: $0 + header)
    }
  }

  var target: Target {
    .systemLibrary(name: module, pkgConfig: pkgConfig, providers: [.apt([debian]), .brew([brew])])
  }
}

// A library that is not installed is left out: `#if canImport` then leaves out its engine, and the
// program reports it. SwiftPM caches the result of this file, so after installing a library build
// with `--manifest-cache none --disable-build-manifest-caching`, as compare.sh does.
let package = Package(
  name: "Peers",
  platforms: [.macOS(.v15)],
  targets: Peer.all.map(\.target) + [
    .executableTarget(
      name: "PeerBenchmark",
      dependencies: Peer.all.filter(\.isInstalled).map { .byName(name: $0.module) },
      swiftSettings: [.treatAllWarnings(as: .error)])
  ],
  swiftLanguageModes: [.v6]
)
