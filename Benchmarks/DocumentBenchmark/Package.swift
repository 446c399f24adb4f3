// swift-tools-version: 6.2
import PackageDescription

// Separate from the main package, so that SQLite is not a dependency of the products.
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
