import LatewoodBytes
import LatewoodDevice
import LatewoodInspection
import LatewoodStore

extension OptionDescription {
  static let fileID = OptionDescription(
    name: "--file-id", value: "HEX", summary: "the file's id, if its header is destroyed: 32 digits")
  static let headerOf = OptionDescription(
    name: "--header-of", value: "BACKUP",
    summary: "take the file's id from a backup of it, or its first 16 KiB")
  static let listOlder = OptionDescription(
    name: "--list-older", summary: "list all entries that are not certain, not only the first 20")
}

extension CommandDescription {
  static let salvage = CommandDescription(
    name: "salvage",
    summary: "save the readable data of a damaged database",
    operands: [
      OperandDescription(
        name: "SOURCE", summary: "path of the damaged file; it is only read", isDatabase: true), .copy,
    ],
    options: [.fileID, .headerOf, .listOlder],
    discussion: [
      "Reads as much as it can of the newest tree, then the log, also behind damage. For lost data it searches "
        + "the whole file for older nodes and commits. All data that it finds goes into a new database, each "
        + "keyspace under its name, or as keyspace-7 if the names are lost.",
      "An entry is certain if checksums prove it and nothing newer can have been lost. It is older "
        + "if it is known from the transaction that is named, and may have been changed or deleted since. It is "
        + "unproven if destroyed bytes share its checksum, or if it may never have been committed. If the shared "
        + "beginning of its key was destroyed, that is inferred from the keys around it.",
      "If one block of 4 KiB is destroyed, only the entries that had a byte in it are lost. The exception "
        + "is a leaf whose header was in that block, if nothing else tells how its keys begin.",
      "An encrypted file needs its key, which also encrypts the new database. Damaged parts of its log are not "
        + "searched for single entries, because each commit opens only whole. The key of the file itself is stored, "
        + "encrypted, in the blocks at 8192 and 12288. If both are destroyed, only a copy of them can help: give a backup "
        + "with --header-of, or a file that was made by `head -c 16384 my.latewood > my.header` since the last "
        + "compaction. With --file-id, it may also be older, as long as the file key is the same.",
      "The exit code is 0 if the newest state was saved whole, and 1 if part of it is lost, older or "
        + "unproven; then the report says between which keys. Try a backup first, if there is one.",
      "If the file holds documents, they come along; where the loss left faults between them, the report says so. "
        + "Export the documents and import them into a new file then.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood salvage my.latewood saved.latewood", explanation: "After a disk has lost blocks."),
      ExampleDescription(
        line: "latewood salvage my.latewood saved.latewood --header-of backup.latewood",
        explanation: "When the first 8 KiB are gone, too."),
    ],
    json: [
      #"{"whole":true|false,"fileBytes":BYTES,"#,
      #"  "identity":"header"|"damagedHeader"|"given","#,
      #"  "checkpoint":OFFSET or null,"transaction":NUMBER,"#,
      #"  "saved":NUMBER,"older":NUMBER,"unproven":NUMBER,"missing":NUMBER,"#,
      #"  "keyspaces":[{"name":"TEXT","entries":NUMBER,"older":NUMBER,"#,
      #"    "unproven":NUMBER,"nameLost":true|false}, ...],"#,
      #"  "lostRanges":[{"what":"leaf"|"branch"|"value"|"tree","offset":BYTES,"#,
      #"    "length":BYTES,"from":"HEX","to":"HEX" or null,"expected":NUMBER or null,"#,
      #"    "saved":NUMBER}, ...],"lostRangeCount":NUMBER,"#,
      #"  "damagedLog":[{"offset":BYTES,"length":BYTES,"#,
      #"    "transactions":[FIRST,LAST] or null,"operations":NUMBER,"#,
      #"    "unacknowledged":true|false}, ...],"#,
      #"  "unreadable":[{"offset":BYTES,"length":BYTES}, ...],"#,
      #"  "uncertain":[{"keyspace":"TEXT","key":DATA,"#,
      #"    "transaction":NUMBER or null}, ...],"#,
      #"  "documentFaults":NUMBER or null}"#,
      "from and to are full keys: four bytes of the keyspace's number, then the key.",
      "A transaction of null in uncertain stands for an unproven entry.",
    ]
  ) { arguments, console in
    let path = try arguments.text(0)
    let isBeingWritten: Bool
    // An error here also prevents reading the file, which will report it.
    do { isBeingWritten = try FileVolume().isLockedForWriting(path) } catch { isBeingWritten = false }
    let run = try SalvageRun(
      from: path, to: try arguments.text(1), identity: try identity(arguments),
      listLimit: arguments.has(.listOlder) ? .max : 20, on: console)
    if console.printsJSON {
      try console.json { run.write(to: &$0) }
    } else {
      try run.print(on: console)
    }
    if isBeingWritten, !run.isWhole {
      try console.noteSentence(
        "A process has the file open for writing: its recent writes may look damaged. Close it, and run "
          + "this again.")
    }
    return run.isWhole ? .success : .no
  }

  private static func identity(_ arguments: Arguments) throws -> SalvageIdentity? {
    if let text = try arguments.text(of: .fileID) {
      guard let bytes = Hex.decode(Array(text.utf8)), bytes.count == 16 else {
        throw Failure.usage(
          "--file-id needs 32 hexadecimal digits", advice: "`latewood info` prints the id of a sound file.")
      }
      return try arguments.text(of: .headerOf).map { try identity(headerOf: $0, fileID: bytes) }
        ?? SalvageIdentity(fileID: bytes)
    }
    return try arguments.text(of: .headerOf).map { try identity(headerOf: $0) }
  }

  private static func identity(headerOf path: String, fileID: [UInt8]? = nil) throws -> SalvageIdentity {
    try Failure.amending {
      let device = try FileVolume().open(path, .readOnly)
      defer { device.close() }
      return try SalvageIdentity(headerOf: device, key: FileKey.current, fileID: fileID)
    } by: {
      $0.path = path
    }
  }
}
