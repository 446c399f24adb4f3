// swift-tools-version: 6.2
import PackageDescription

// Separate from the main package, so that GRDB is not a dependency of the products.
let package = Package(
  name: "GRDBBenchmark",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Latewood", path: "../.."),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "GRDBBenchmark",
      dependencies: [
        .product(name: "Latewood", package: "Latewood"), .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)])
  ],
  swiftLanguageModes: [.v6]
)
