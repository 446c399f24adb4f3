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

  @Test func `a drawing covers the file and stays small with any number of regions`() throws {
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

  @Test func `the letters cover the whole file`() throws {
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

  /// Returns the map of a store with keyspaces of different sizes, the largest first.
  private static func mapOfKeyspaces(_ count: Int) throws -> FileMap {
    let volume = MemoryVolume()
    let store = try store(volume)
    for number in 0..<count {
      let keyspace = try store.keyspace("keyspace \(number)")
      try store.write { transaction in
        for entry in 0..<2 * (count - number) {
          try transaction.put("entry \(entry)", Array(repeating: 7, count: 600), in: keyspace)
        }
      }
    }
    try store.checkpoint()
    try store.close()
    return try FileMap(InspectedFile(path: "file", on: volume))
  }

  @Test func `part of a map has the regions in that part`() throws {
    let map = try Self.busyMap()
    for range in [
      0..<map.size, 0..<1, map.size - 1..<map.size, 9000..<20_001, map.regions[7].range, 5000..<map.size,
    ] {
      let part = map.part(range)
      #expect(part.range == range && part.size == map.size && part.isWhole == (range == 0..<map.size))
      var at = range.lowerBound
      for region in part.regions {
        #expect(region.range.lowerBound == at && !region.range.isEmpty)
        let whole = try #require(map.region(at: at))
        #expect(whole.kind == region.kind && whole.keyspace == region.keyspace)
        at = region.range.upperBound
      }
      #expect(at == range.upperBound)
      let blocks = BlockMap(part, width: 80)
      #expect(blocks.cells().count == Int((part.length + blocks.cellLength - 1) / blocks.cellLength))
      let drawing = MapDrawing(part, name: "file")
      #expect(drawing.rows.first?.first?.range.lowerBound == range.lowerBound)
      #expect(drawing.rows.last?.last?.range.upperBound == range.upperBound)
    }
    #expect(BlockMap(map.part(16_384..<18_432), width: 80).cellLength == 2)
    #expect(map.part(map.size..<map.size + 5).regions.isEmpty)
  }

  @Test func `letters identify the keyspaces, the largest first`() throws {
    let map = try Self.mapOfKeyspaces(7)
    let blocks = BlockMap(map, width: 80)
    let cells = KeyspaceMap(blocks).cells()
    let names = map.tree.keyspacesBySize.map { map.tree.name(of: $0) }
    #expect(Array(names.prefix(7)) == (0..<7).map { "keyspace \($0)" })
    // Each letter belongs to a keyspace with live bytes in that cell; otherwise the cell has no
    // live bytes.
    for (index, cell) in cells.enumerated() {
      let start = UInt64(index) * blocks.cellLength
      let here = map.part(start..<min(start + blocks.cellLength, map.size)).liveBytes
      guard let place = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ").firstIndex(of: cell.character) else {
        #expect(cell.character == "." && here.isEmpty)
        continue
      }
      #expect(here[map.tree.keyspacesBySize[place]] == here.values.max())
    }
    #expect(Set("ABCDEFG.").isSubset(of: cells.map(\.character)))
    #expect(Set(cells.map(\.colour)).count >= 8)
    let legend = KeyspaceMap(blocks).legend(.plain)
    #expect(legend[0].hasPrefix("A  keyspace 0 ") && legend.last?.hasPrefix(".  anything else ") == true)
    #expect(legend.allSatisfy { DisplayWidth.of($0) <= 80 })
    // A part shows the same letters as the whole.
    let last = try #require(map.regions.last { $0.liveKeyspace == map.tree.keyspacesBySize[6] })
    #expect(KeyspaceMap(BlockMap(map.part(last.range), width: 80)).cells().allSatisfy { $0.character == "G" })
  }

  @Test func `keyspaces that share a node are all counted in the legend`() throws {
    let volume = MemoryVolume()
    let store = try Self.store(volume)
    for number in 1...9 {
      let keyspace = try store.keyspace("small \(number)")
      try store.write { try $0.put("key", Array(repeating: 7, count: 10 * number), in: keyspace) }
    }
    try store.checkpoint()
    try store.close()
    let map = try FileMap(InspectedFile(path: "file", on: volume))
    #expect(map.liveBytes.count < 9, "some share a node")
    let legend = KeyspaceMap(BlockMap(map, width: 80)).legend(.plain)
    for number in 1...9 {
      let line = legend.first { $0.dropFirst(3).hasPrefix("small \(number) ") }
      let keyspace = map.tree.keyspaces.first { map.tree.name(of: $0.key) == "small \(number)" }
      let bytes = try #require(keyspace).value.bytes
      #expect(bytes > 10 * number && line?.contains(" \(Quantity.bytes(bytes)) ") == true, "\(legend)")
    }
  }

  @Test func `keyspaces beyond the available letters share one`() throws {
    let map = try Self.mapOfKeyspaces(66)
    let characters = Set(KeyspaceMap(BlockMap(map, width: 200)).cells().map(\.character))
    #expect(characters.isSuperset(of: "AZaz09*"))
  }

  @Test func `a drawing by keyspace has a colour for each`() throws {
    let map = try Self.mapOfKeyspaces(40)
    let svg = MapDrawing(map, name: "file", showsKeyspaces: true).svg()
    let colours = svg.matches(of: /\.c(\d+)\{fill:(hsl\([^)]*\))\}/)
    // For light and for dark.
    let shown = map.tree.keyspacesBySize.count
    #expect(colours.count == 2 * shown && Set(colours.map { $0.2 }).count == 2 * shown)
    for place in 0..<40 { #expect(svg.contains("class=\"extent c\(place)")) }
    // By kind, shades repeat after ten.
    let shades = MapDrawing(map, name: "file").svg()
    #expect(Set(shades.matches(of: /\.k\d+\{([^}]*)\}/).map { $0.1 }).count == 9)
    #expect(!shades.contains("hsl("))
  }
}
