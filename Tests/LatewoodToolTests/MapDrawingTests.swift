import LatewoodDevice
import LatewoodInspection
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodTool

@Suite struct MapDrawingTests {
  private static func store(_ volume: MemoryVolume) throws -> Store {
    var options = Store.Options()
    options.inlineValueLimit = 64
    options.nodeSize = 1024
    options.compaction = .manual
    return try Store.open(at: "file", on: volume, mode: .createNew, options: options, environment: .system)
  }

  /// Returns a map with many small regions: extents between dead operations.
  private static func busyMap() throws -> FileMap {
    var random = SeededRandom(seed: 3)
    let volume = MemoryVolume()
    let store = try store(volume)
    let keyspace = try store.keyspace("<many> & \"small\"")
    for _ in 0..<60 {
      try store.write { transaction in
        for _ in 0..<200 {
          let key = Array("\(random.below(6000))".utf8)
          try transaction.put(key, random.bytes(20 + random.below(200)), in: keyspace)
        }
      }
    }
    try store.checkpoint()
    #expect(try store.verify().faults.isEmpty)
    try store.close()
    return try FileMap(InspectedFile(path: "file", on: volume))
  }

  @Test func `a drawing covers the file and stays small however many regions there are`() throws {
    let map = try Self.busyMap()
    #expect(map.regions.count > 2 * MapDrawing.mostShapes)
    let drawing = MapDrawing(map, name: "file")
    let shapes = drawing.rows.flatMap { $0 }
    #expect(shapes.count <= MapDrawing.mostShapes && shapes.count > 100)
    #expect(drawing.rows.count <= 32)
    var at: UInt64 = 0
    for shape in shapes {
      #expect(shape.range.lowerBound == at && !shape.range.isEmpty)
      at = shape.range.upperBound
      if let parts = shape.parts {
        #expect(parts.values.reduce(0, +) == shape.range.upperBound - shape.range.lowerBound)
      }
    }
    #expect(at == map.size)
    let svg = drawing.svg()
    #expect(svg.utf8.count < 1 << 20)
    #expect(svg.contains("drawn as one") && svg.contains("prefers-color-scheme:dark"))
  }

  @Test func `a shape of several regions belongs to the keyspace with the most bytes`() throws {
    let volume = MemoryVolume()
    let store = try Self.store(volume)
    let names = ["first", "second"]
    let keyspaces = try names.map { try store.keyspace($0) }
    for keyspace in keyspaces {
      for batch in 0..<150 {
        try store.write { transaction in
          for entry in 0..<100 {
            try transaction.put(
              Array("key \(batch) \(entry)".utf8), Array(repeating: 7, count: 40), in: keyspace)
          }
        }
      }
      try store.checkpoint()
    }
    try store.close()
    let map = try FileMap(InspectedFile(path: "file", on: volume))
    let drawing = MapDrawing(map, name: "file")
    let joined = drawing.rows.flatMap { $0 }.filter { $0.parts != nil }
    #expect(joined.contains { $0.parts?[.frame] != nil && $0.parts?[.node] != nil })
    for shape in joined {
      var owners: [UInt32: UInt64] = [:]
      for region in map.regions where region.kind == shape.kind {
        guard let keyspace = region.keyspace, region.range.overlaps(shape.range) else { continue }
        let part = region.range.clamped(to: shape.range)
        owners[keyspace, default: 0] += part.upperBound - part.lowerBound
      }
      #expect(owners[shape.keyspace ?? 0] == owners.values.max() || (owners.isEmpty && shape.keyspace == nil))
      if shape.kind == .node, !owners.isEmpty { #expect(drawing.title(shape).contains("mostly ")) }
    }
  }

  @Test func `names are escaped`() throws {
    let svg = MapDrawing(try Self.busyMap(), name: "a<b>&\"c\"").svg()
    #expect(svg.contains("a&lt;b&gt;&amp;&quot;c&quot;"))
    #expect(svg.contains("&lt;many&gt; &amp;") && !svg.contains("<many>"))
  }

  @Test func `letters stand for all of the file`() throws {
    let map = try Self.busyMap()
    for width in [40, 80, 132, 200] {
      let blocks = BlockMap(map, width: width)
      let cells = blocks.cells()
      #expect(cells.count == Int((map.size + blocks.cellLength - 1) / blocks.cellLength))
      #expect(blocks.lines(.plain).allSatisfy { DisplayWidth.of($0) <= width })
      #expect(blocks.lines(Style(isColoured: true)).allSatisfy { $0.contains("\u{1B}[") })
    }
    let letters = Region.Kind.allCases.map(\.look.letter)
    #expect(Set(letters).count == letters.count)
  }
}
