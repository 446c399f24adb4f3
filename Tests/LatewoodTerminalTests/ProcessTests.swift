import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodTerminal
import LatewoodTestSupport
import Testing

@Suite("Child processes, terminals and streams")
struct ProcessTests {
  @Test func `a child's output is read by line and to the end, and its exit status is returned`() throws {
    let child = try ChildProcess("/bin/sh", arguments: ["-c", "printf 'one\\n\\nthree\\nrest'; exit 7"])
    #expect(try child.output.readLine() == Array("one".utf8))
    #expect(try child.output.readLine() == [])
    #expect(try child.output.readLine() == Array("three".utf8))
    #expect(try child.output.readAll() == Array("rest".utf8))
    #expect(try child.output.readLine() == nil)
    #expect(try child.wait() == 7)
  }

  @Test func `output larger than the buffers arrives complete`() throws {
    let child = try ChildProcess(
      "/bin/sh", arguments: ["-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo y"])
    #expect(try child.output.readLine() == [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000))
    #expect(try child.output.readLine() == [UInt8(ascii: "y")])
    #expect(try child.output.readLine() == nil)
    #expect(try child.wait() == 0)
  }

  @Test func `a killed child has no exit status`() throws {
    let child = try ChildProcess("/bin/sh", arguments: ["-c", "echo up; exec sleep 60"])
    #expect(try child.output.readLine() == Array("up".utf8))
    try child.kill()
    #expect(try child.wait() == nil)
    try child.kill()
  }

  @Test func `a program that does not exist is reported`() {
    let fault = #expect(throws: StorageError.self) { try ChildProcess("/nowhere/at/all", arguments: []) }
    #expect(fault?.kind == .notFound)
  }

  @Test func `programs on several terminals at the same time do not mix their output`() throws {
    let wrong = Guarded<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for round in 0..<25 {
        let expected = Array("this is \(thread).\(round)\r\n".utf8)
        do throws(StorageError) {
          let terminal = try PseudoTerminal("/bin/echo", arguments: ["this is \(thread).\(round)"])
          let isRight = try terminal.read(milliseconds: Patience.seconds * 1000) {
            $0.count >= expected.count
          }
          if !isRight || terminal.text != expected {
            wrong.withLock { $0.append(String(decoding: terminal.text, as: UTF8.self)) }
          }
        } catch {
          wrong.withLock { $0.append("\(error)") }
        }
      }
    }
    #expect(wrong.withLock { $0 } == [])
  }

  @Test func `this process knows its executable path and its environment`() throws {
    #expect(try FileVolume().exists(CurrentProcess.executablePath()))
    #expect(CurrentProcess.environmentVariable("PATH")?.isEmpty == false)
    #expect(CurrentProcess.environmentVariable("LATEWOOD_NOT_THERE") == nil)
  }

  @Test func `output that cannot be written keeps the first failure and accepts more writes`() {
    let output = ByteOutput(descriptor: -1)
    #expect(!output.isTerminal)
    #expect(output.terminalWidth == nil)
    output.write("some text\n")
    #expect(output.failure == nil)
    output.flush()
    #expect(output.failure?.kind == .inputOutput)
    #expect(output.failure?.isBrokenPipe == false)
    output.write([1, 2, 3])
    output.flush()
  }
}
