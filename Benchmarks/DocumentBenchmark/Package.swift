// swift-tools-version: 6.2
import PackageDescription

// Not part of the package above, so that SQLite is no dependency of anything that is used.
let package = Package(
  name: "DocumentBenchmark",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Latewood", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"]), .brew(["sqlite"])]),
    .executableTarget(
      name: "DocumentBenchmark", dependencies: ["CSQLite", .product(name: "Latewood", package: "Latewood")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
  ],
  swiftLanguageModes: [.v6]
)
