// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

func layer(_ name: String, on dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
  name: "Latewood",
  platforms: [
    .macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18),
  ],
  products: [
    .library(name: "Latewood", targets: ["Latewood"]),
    .library(name: "LatewoodStore", targets: ["LatewoodStore"]),
    .executable(name: "latewood", targets: ["LatewoodMain"]),
  ],
  targets: [
    layer("LatewoodBytes"),
    layer("LatewoodFleece", on: ["LatewoodBytes"]),
    layer("LatewoodQuery", on: ["LatewoodFleece", "LatewoodBytes"]),
    layer("LatewoodDevice", on: ["LatewoodBytes"]),
    layer("LatewoodFile", on: ["LatewoodDevice", "LatewoodBytes"]),
    layer("LatewoodTree", on: ["LatewoodFile", "LatewoodDevice", "LatewoodBytes"]),
    layer("LatewoodStore", on: ["LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodBytes"]),
    layer("LatewoodInspection", on: ["LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodBytes"]),
    layer(
      "LatewoodDocuments",
      on: ["LatewoodStore", "LatewoodQuery", "LatewoodFleece", "LatewoodDevice", "LatewoodBytes"]),
    layer(
      "Latewood",
      on: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece", "LatewoodStore", "LatewoodDevice",
        "LatewoodBytes",
      ]),
    // What a program needs of the system, and a library does not: standard streams, the terminal,
    // signals, child processes.
    layer("LatewoodTerminal", on: ["LatewoodDevice", "LatewoodBytes"]),
    layer(
      "LatewoodTool",
      on: [
        "LatewoodTerminal", "LatewoodInspection", "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece",
        "LatewoodStore", "LatewoodDevice", "LatewoodBytes",
      ]),
    .executableTarget(name: "LatewoodMain", dependencies: ["LatewoodTool"], swiftSettings: settings),
    .executableTarget(
      name: "LatewoodBenchmark",
      dependencies: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece", "LatewoodStore", "LatewoodDevice",
        "LatewoodBytes",
      ],
      path: "Benchmarks/LatewoodBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "LatewoodJSONBenchmark", dependencies: ["LatewoodFleece"],
      path: "Benchmarks/LatewoodJSONBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "LatewoodTool", "LatewoodTerminal", "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece",
        "LatewoodStore", "LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodBytes",
        "LatewoodModels", "LatewoodSimulation",
      ],
      path: "Fuzz/Fuzz", swiftSettings: settings),
    .executableTarget(
      name: "KillRun",
      dependencies: [
        "LatewoodTerminal", "LatewoodDocuments", "LatewoodFleece", "LatewoodStore", "LatewoodDevice",
        "LatewoodBytes", "LatewoodModels", "LatewoodSimulation",
      ],
      path: "Fuzz/KillRun", swiftSettings: settings),
    .executableTarget(
      name: "Soak",
      dependencies: [
        "LatewoodTerminal", "LatewoodDocuments", "LatewoodStore", "LatewoodDevice", "LatewoodBytes",
      ],
      path: "Fuzz/Soak", swiftSettings: settings),
    .target(
      name: "LatewoodSimulation",
      dependencies: [
        "LatewoodTerminal", "LatewoodStore", "LatewoodTree", "LatewoodFile", "LatewoodDevice",
        "LatewoodBytes",
      ],
      path: "Tests/LatewoodSimulation", swiftSettings: settings),
    .target(
      name: "LatewoodModels",
      dependencies: ["LatewoodDocuments", "LatewoodSimulation", "LatewoodStore", "LatewoodDevice"],
      path: "Tests/LatewoodModels", swiftSettings: settings),
    .testTarget(
      name: "LatewoodBytesTests", dependencies: ["LatewoodBytes"], swiftSettings: settings),
    .testTarget(
      name: "LatewoodFleeceTests", dependencies: ["LatewoodFleece", "LatewoodDevice", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodQueryTests",
      dependencies: ["LatewoodQuery", "LatewoodFleece", "LatewoodDevice", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTests",
      dependencies: ["Latewood", "LatewoodFleece", "LatewoodStore", "LatewoodDevice", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodDeviceTests",
      dependencies: ["LatewoodDevice", "LatewoodTerminal", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTerminalTests",
      dependencies: ["LatewoodTerminal", "LatewoodDevice", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodFileTests", dependencies: ["LatewoodFile", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTreeTests", dependencies: ["LatewoodTree", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodStoreTests",
      dependencies: ["LatewoodStore", "LatewoodTerminal", "LatewoodModels", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodInspectionTests",
      dependencies: [
        "LatewoodInspection", "LatewoodStore", "LatewoodTree", "LatewoodFile", "LatewoodDevice",
        "LatewoodBytes", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodDocumentsTests",
      dependencies: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece", "LatewoodStore", "LatewoodDevice",
        "LatewoodBytes", "LatewoodModels", "LatewoodSimulation",
      ],
      exclude: ["Revisions/couchdb-revision-trees.txt"], swiftSettings: settings),
    .testTarget(
      name: "LatewoodFormatTests",
      dependencies: [
        "LatewoodStore", "LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodBytes",
        "LatewoodModels", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodToolTests",
      dependencies: [
        "LatewoodTool", "LatewoodTerminal", "LatewoodDocuments", "LatewoodFleece", "LatewoodStore",
        "LatewoodDevice", "LatewoodSimulation",
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
