// swift-tools-version: 6.2
import PackageDescription

// A package as a user's would be: it depends on Latewood from outside.
let package = Package(
  name: "Client",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Latewood", path: "../..")],
  targets: [
    .executableTarget(
      name: "Client",
      dependencies: [
        .product(name: "Latewood", package: "Latewood"), .product(name: "LatewoodStore", package: "Latewood"),
      ],
      swiftSettings: [.treatAllWarnings(as: .error)]),
    // A program for a newcomer to read: one survey of birds, with most of what Latewood does.
    .executableTarget(
      name: "Survey", dependencies: [.product(name: "Latewood", package: "Latewood")],
      swiftSettings: [.treatAllWarnings(as: .error)]),
  ],
  swiftLanguageModes: [.v6]
)
