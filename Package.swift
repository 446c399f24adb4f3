// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

func layer(
  _ name: String, on dependencies: [Target.Dependency] = [], resources: [Resource] = []
) -> Target {
  .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

let package = Package(
  name: "Latewood",
  platforms: [
    .macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2), .macCatalyst(.v18),
  ],
  products: [
    .library(name: "Latewood", targets: ["Latewood"]),
    .library(name: "LatewoodStore", targets: ["LatewoodStore"]),
    .library(name: "LatewoodReplication", targets: ["LatewoodReplication"]),
    .library(name: "LatewoodTesting", targets: ["LatewoodTesting"]),
    .executable(name: "latewood", targets: ["LatewoodMain"]),
  ],
  targets: [
    layer("LatewoodBytes"),
    // Ciphers, hash functions and the derivation of keys, for encryption at rest.
    layer("LatewoodCrypto", on: ["LatewoodBytes"]),
    layer("LatewoodFleece", on: ["LatewoodBytes"]),
    // The words of texts and queries for them, with tables of Unicode of its own.
    layer("LatewoodText", on: ["LatewoodBytes"]),
    layer(
      "LatewoodQuery",
      on: ["LatewoodText", "LatewoodFleece", "LatewoodConcurrency", "LatewoodBytes"]),
    // HTTP/1.1 for client and server, without sockets.
    layer("LatewoodHTTP", on: ["LatewoodFleece", "LatewoodConcurrency", "LatewoodBytes"]),
    // Sockets for it.
    layer("LatewoodNetwork", on: ["LatewoodHTTP", "LatewoodConcurrency"]),
    // The system's client for it, which has TLS.
    layer("LatewoodURLSession", on: ["LatewoodHTTP", "LatewoodConcurrency"]),
    // Locks, condition variables, threads and clocks, so that no layer needs files for these.
    layer("LatewoodConcurrency"),
    layer("LatewoodDevice", on: ["LatewoodConcurrency", "LatewoodBytes"]),
    layer("LatewoodFile", on: ["LatewoodDevice", "LatewoodConcurrency", "LatewoodCrypto", "LatewoodBytes"]),
    layer("LatewoodTree", on: ["LatewoodFile", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes"]),
    layer(
      "LatewoodStore",
      on: ["LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes"]),
    layer(
      "LatewoodInspection",
      on: ["LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes"]),
    layer(
      "LatewoodDocuments",
      on: [
        "LatewoodCrypto", "LatewoodQuery", "LatewoodText", "LatewoodFleece", "LatewoodStore",
        "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes",
      ]),
    layer(
      "Latewood",
      on: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodText", "LatewoodFleece", "LatewoodStore",
        "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes",
      ]),
    // The protocol of a replication, without sockets, and the collection of this process as a peer.
    layer(
      "LatewoodReplicator",
      on: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodHTTP", "LatewoodFleece", "LatewoodCrypto",
        "LatewoodConcurrency", "LatewoodBytes",
      ]),
    // The public API of replications. `Latewood` does not depend on it.
    layer(
      "LatewoodReplication",
      on: [
        "Latewood", "LatewoodReplicator", "LatewoodDocuments", "LatewoodQuery", "LatewoodURLSession",
        "LatewoodNetwork", "LatewoodHTTP", "LatewoodConcurrency",
      ]),
    // CouchDB's HTTP API over the collections of a file, without sockets.
    layer(
      "LatewoodServing",
      on: [
        "LatewoodReplicator", "LatewoodDocuments", "LatewoodQuery", "LatewoodHTTP", "LatewoodFleece",
        "LatewoodStore", "LatewoodCrypto", "LatewoodConcurrency",
      ],
      // The page for browsers, as bytes in the program.
      resources: [
        "page.html", "page.css", "json.js", "elements.js", "server.js", "databases.js", "documents.js",
        "document.js", "compare.js", "page.js",
      ].map { .embedInCode("Console/Page/\($0)") }),
    // For tests of programs that use Latewood: the simulated disk of its own tests.
    layer(
      "LatewoodTesting",
      on: [
        "Latewood", "LatewoodDocuments", "LatewoodStore", "LatewoodDevice", "LatewoodConcurrency",
        "LatewoodBytes", "LatewoodSimulation",
      ]),
    // What a program needs of the system, and a library does not: standard streams, the terminal,
    // signals, child processes.
    layer("LatewoodTerminal", on: ["LatewoodCrypto", "LatewoodDevice", "LatewoodBytes"]),
    layer(
      "LatewoodTool",
      on: [
        "LatewoodServing", "LatewoodReplicator", "LatewoodNetwork", "LatewoodHTTP", "LatewoodTerminal",
        "LatewoodInspection",
        "LatewoodDocuments", "LatewoodQuery", "LatewoodText", "LatewoodFleece", "LatewoodStore",
        "LatewoodCrypto", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes",
      ]),
    .executableTarget(name: "LatewoodMain", dependencies: ["LatewoodTool"], swiftSettings: settings),
    .executableTarget(
      name: "LatewoodBenchmark",
      dependencies: [
        "Latewood", "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece", "LatewoodStore",
        "LatewoodConcurrency",
      ],
      path: "Benchmarks/LatewoodBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "LatewoodJSONBenchmark", dependencies: ["LatewoodFleece"],
      path: "Benchmarks/LatewoodJSONBenchmark", swiftSettings: settings),
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "LatewoodTool", "LatewoodTerminal", "LatewoodReplicator", "LatewoodDocuments", "LatewoodQuery",
        "LatewoodHTTP",
        "LatewoodText", "LatewoodFleece", "LatewoodStore", "LatewoodTree", "LatewoodFile",
        "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes", "LatewoodModels",
        "LatewoodSimulation",
      ],
      path: "Fuzz/Fuzz", swiftSettings: settings),
    .executableTarget(
      name: "KillRun",
      dependencies: [
        "LatewoodTerminal", "LatewoodDocuments", "LatewoodQuery", "LatewoodFleece", "LatewoodStore",
        "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes", "LatewoodModels", "LatewoodSimulation",
      ],
      path: "Fuzz/KillRun", swiftSettings: settings),
    .executableTarget(
      name: "Soak",
      dependencies: [
        "LatewoodTerminal", "LatewoodDocuments", "LatewoodStore", "LatewoodDevice", "LatewoodConcurrency",
        "LatewoodBytes",
      ],
      path: "Fuzz/Soak", swiftSettings: settings),
    .target(
      name: "LatewoodSimulation",
      dependencies: ["LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes"],
      path: "Tests/LatewoodSimulation", swiftSettings: settings),
    // A server in this process, which answers and fails as a test says.
    .target(
      name: "LatewoodHTTPScripts", dependencies: ["LatewoodHTTP", "LatewoodConcurrency"],
      path: "Tests/LatewoodHTTPScripts", swiftSettings: settings),
    // Support for the tests only, which `LatewoodTesting` does not contain.
    .target(
      name: "LatewoodTestSupport",
      dependencies: [
        "LatewoodTerminal", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation",
      ],
      path: "Tests/LatewoodTestSupport", swiftSettings: settings),
    .target(
      name: "LatewoodModels",
      dependencies: [
        "LatewoodDocuments", "LatewoodStore", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes",
        "LatewoodSimulation",
      ],
      path: "Tests/LatewoodModels", swiftSettings: settings),
    .testTarget(
      name: "LatewoodBytesTests", dependencies: ["LatewoodBytes"], swiftSettings: settings),
    .testTarget(
      name: "LatewoodCryptoTests",
      dependencies: [
        "LatewoodCrypto", "LatewoodFleece", "LatewoodDevice", "LatewoodBytes", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodFleeceTests", dependencies: ["LatewoodFleece", "LatewoodDevice", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodHTTPTests",
      dependencies: [
        "LatewoodHTTP", "LatewoodFleece", "LatewoodConcurrency", "LatewoodSimulation", "LatewoodHTTPScripts",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodNetworkTests",
      dependencies: ["LatewoodNetwork", "LatewoodHTTP", "LatewoodConcurrency", "LatewoodHTTPScripts"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodURLSessionTests",
      dependencies: [
        "LatewoodURLSession", "LatewoodNetwork", "LatewoodHTTP", "LatewoodConcurrency", "LatewoodHTTPScripts",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTextTests", dependencies: ["LatewoodText", "LatewoodDevice", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodQueryTests",
      dependencies: [
        "LatewoodQuery", "LatewoodFleece", "LatewoodDevice", "LatewoodBytes", "LatewoodSimulation",
        "LatewoodTestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTests",
      dependencies: [
        "Latewood", "LatewoodFleece", "LatewoodStore", "LatewoodFile", "LatewoodDevice",
        "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation", "LatewoodTestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTestingTests", dependencies: ["LatewoodTesting", "Latewood", "LatewoodStore"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodConcurrencyTests", dependencies: ["LatewoodConcurrency", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodDeviceTests",
      dependencies: [
        "LatewoodTerminal", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTerminalTests",
      dependencies: [
        "LatewoodTerminal", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation",
        "LatewoodTestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodFileTests",
      dependencies: [
        "LatewoodFile", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodTreeTests",
      dependencies: ["LatewoodTree", "LatewoodFile", "LatewoodBytes", "LatewoodSimulation"],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodStoreTests",
      dependencies: [
        "LatewoodTerminal", "LatewoodStore", "LatewoodTree", "LatewoodFile", "LatewoodDevice",
        "LatewoodConcurrency", "LatewoodBytes", "LatewoodModels", "LatewoodSimulation", "LatewoodTestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodInspectionTests",
      dependencies: [
        "LatewoodInspection", "LatewoodStore", "LatewoodTree", "LatewoodFile", "LatewoodDevice",
        "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodDocumentsTests",
      dependencies: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodText", "LatewoodFleece", "LatewoodStore",
        "LatewoodDevice", "LatewoodConcurrency", "LatewoodModels", "LatewoodSimulation",
        "LatewoodTestSupport",
      ],
      exclude: ["Revisions/couchdb-revision-trees.txt", "Views/couchdb-views.txt"], swiftSettings: settings),
    .testTarget(
      name: "LatewoodReplicatorTests",
      dependencies: [
        "Latewood", "LatewoodReplicator", "LatewoodDocuments", "LatewoodNetwork", "LatewoodHTTP",
        "LatewoodFleece", "LatewoodStore", "LatewoodDevice", "LatewoodConcurrency", "LatewoodSimulation",
        "LatewoodHTTPScripts",
      ],
      exclude: ["CouchDB/couchdb-sessions.txt"], swiftSettings: settings),
    .testTarget(
      name: "LatewoodServingTests",
      dependencies: [
        "LatewoodServing", "LatewoodReplicator", "LatewoodDocuments", "LatewoodHTTP", "LatewoodFleece",
        "LatewoodStore", "LatewoodCrypto", "LatewoodDevice", "LatewoodConcurrency", "LatewoodSimulation",
        "LatewoodHTTPScripts",
      ],
      exclude: ["http-api-exceptions.txt"], swiftSettings: settings),
    .testTarget(
      name: "LatewoodReplicationTests",
      dependencies: [
        "LatewoodReplication", "Latewood", "LatewoodReplicator", "LatewoodDocuments", "LatewoodURLSession",
        "LatewoodNetwork", "LatewoodHTTP", "LatewoodConcurrency",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodFormatTests",
      dependencies: [
        "LatewoodDocuments", "LatewoodQuery", "LatewoodText", "LatewoodFleece", "LatewoodStore",
        "LatewoodTree", "LatewoodFile", "LatewoodDevice", "LatewoodConcurrency", "LatewoodBytes",
        "LatewoodModels", "LatewoodSimulation",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "LatewoodToolTests",
      dependencies: [
        "LatewoodTool", "LatewoodServing", "LatewoodNetwork", "LatewoodHTTP", "LatewoodTerminal",
        "LatewoodInspection", "LatewoodDocuments", "LatewoodQuery",
        "LatewoodFleece", "LatewoodStore", "LatewoodFile", "LatewoodDevice", "LatewoodCrypto",
        "LatewoodConcurrency", "LatewoodBytes", "LatewoodSimulation", "LatewoodTestSupport",
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// `swift test` builds every target. Benchmarks and fuzzing programs are left out unless
// `LATEWOOD_PROGRAMS` is set; `LATEWOOD_TESTS=LatewoodFileTests,LatewoodTreeTests` leaves out all
// other tests.
let programs: Set = ["LatewoodBenchmark", "LatewoodJSONBenchmark", "Fuzz", "KillRun", "Soak"]
if Context.environment["LATEWOOD_PROGRAMS"] == nil {
  package.targets.removeAll { programs.contains($0.name) }
}
if let listed = Context.environment["LATEWOOD_TESTS"] {
  let names = listed.split(separator: ",")
  package.targets.removeAll { target in target.type == .test && !names.contains { $0 == target.name } }
}
