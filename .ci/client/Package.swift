// swift-tools-version: 6.2
import PackageDescription

let examples: [Target.Dependency] = [
  .product(name: "Latewood", package: "Latewood"), .product(name: "LatewoodStore", package: "Latewood"),
  .product(name: "LatewoodReplication", package: "Latewood"),
  .product(name: "LatewoodTesting", package: "Latewood"),
]

// A package as a user's would be: it depends on Latewood from outside and uses every library
// product.
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
    // The code of the documentation: see .ci/examples.py.
    .executableTarget(
      name: "Examples",
      dependencies: examples),
    // The same code as in an app: in functions of the main actor, and with the main actor as
    // default.
    .target(name: "ExamplesOnMainActor", dependencies: examples),
    .target(
      name: "ExamplesIsolated", dependencies: examples,
      swiftSettings: [.defaultIsolation(MainActor.self)]),
  ],
  swiftLanguageModes: [.v6]
)
