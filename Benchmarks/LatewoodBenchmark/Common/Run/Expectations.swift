/// The checksums and counts of `WORKLOADS.md`, on which ten stores agree.
enum Expectations {
  /// Returns the expected values of `"workload,metric"` for 1,000,000 records and scale 1.
  static func table(valueLength: Int) -> [String: UInt64] {
    switch valueLength {
    case 100: hundred
    case 1000: thousand
    default: [:]
    }
  }

  private static let hundred: [String: UInt64] = [
    "warmup,checksum": 3_473_420_121_078,
    "warmup,count": 1_000_000,
    "readseq-first,checksum": 3_473_420_121_078,
    "readseq-first,count": 1_000_000,
    "readseq,checksum": 3_473_420_121_078,
    "readseq,count": 1_000_000,
    "readrandom,checksum": 32_789_313_767,
    "readrandom-snap,checksum": 32_789_313_767,
    "readrandom-2t,checksum": 32_794_705_208,
    "readrandom-snap-2t,checksum": 32_794_705_208,
    "scan100,checksum": 6_946_856_395_225,
    "scan100,count": 2_000_000,
    "readrandom-aged,checksum": 32_793_129_447,
    "readseq-halfdeleted,checksum": 1_736_573_486_932,
    "readseq-halfdeleted,count": 500_000,
  ]

  private static let thousand: [String: UInt64] = [
    "ycsb-A,checksum": 3_257_620_989,
    "ycsb-B,checksum": 6_213_312_807,
    "ycsb-C,checksum": 6_794_277_766,
    "ycsb-F,checksum": 6_546_661_214,
    "ycsb-D,checksum": 6_242_000_820,
    "ycsb-E,checksum": 33_272_250_396_972,
    "ycsb-E,scanned": 9_578_507,
  ]
}
