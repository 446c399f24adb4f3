import LatewoodDevice
import LatewoodSimulation
import Testing

@Suite("Directories")
struct DirectoriesTests {
  @Test func `removing a tree deletes its contents and does not follow links out of it`() throws {
    let directory = try TemporaryDirectory()
    try Directories.make(directory("tree"))
    try Directories.make(directory("tree/inner"))
    _ = try FileVolume().open(directory("tree/inner/a"), newFile)
    _ = try FileVolume().open(directory("kept"), newFile)
    try Directories.makeSymbolicLink(directory("tree/link"), to: directory.path)
    #expect(try Directories.names(in: directory("tree")).sorted() == ["inner", "link"])
    try Directories.removeTree(directory("tree"))
    #expect(try Directories.names(in: directory.path) == ["kept"])
    #expect(fault { try Directories.removeTree(directory("tree")) }?.kind == .notFound)
  }
}
