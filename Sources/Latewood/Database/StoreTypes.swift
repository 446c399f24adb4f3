import LatewoodDocuments
import LatewoodStore

// Types of the layers below that a database's calls take and return, so that `import Latewood`
// alone is enough to name them.

/// The settings of automatic compactions: see ``Database/Configuration/compaction``.
public typealias CompactionPolicy = LatewoodStore.CompactionPolicy

/// The durability of saves: see ``Database/Configuration/durability``.
public typealias Durability = LatewoodStore.Durability

/// The time at which a batch checks unique indexes: see ``Database/inBatch(uniqueness:_:)-87c8w``.
///
/// - `atEachSave`, the default: each save is checked when it is made, and refused if another
///   document has the same values.
/// - `atEnd`: the batch is checked as a whole, when its closure has returned, so documents can
///   exchange their values in it. Memory grows with the number of values that are saved.
///
/// Revisions from another replica, which
/// ``DocumentCollection/insert(_:history:isDeleted:)-3jjj3`` stores, are never refused.
public typealias UniquenessCheck = LatewoodDocuments.UniquenessCheck

/// The key that opens an encrypted database: see ``Database/Configuration/encryptionKey``.
public typealias EncryptionKey = LatewoodStore.EncryptionKey

/// How a key is derived from a password: see ``EncryptionKey``.
public typealias PasswordDerivation = LatewoodStore.PasswordDerivation

/// The ciphers of an encrypted database: see ``Database/Configuration/cipherSuite``.
public typealias CipherSuite = LatewoodStore.CipherSuite

/// A state of an encrypted database, by which a later open recognizes an older copy: see
/// `Database.anchor`.
public typealias StateAnchor = LatewoodStore.StateAnchor

/// The progress of a compaction.
public typealias CompactionProgress = LatewoodStore.CompactionProgress

/// The result of a compaction.
public typealias CompactionReport = LatewoodStore.CompactionReport

/// An event in the background of a database: see ``Database/Configuration/onEvent``.
public typealias StoreEvent = LatewoodStore.StoreEvent

/// The failure of an automatic compaction.
public typealias CompactionFailure = LatewoodStore.CompactionFailure

/// The progress of a backup.
public typealias BackupProgress = LatewoodStore.BackupProgress

/// The result of a backup.
public typealias BackupReport = LatewoodStore.BackupReport

/// The progress of a verification.
public typealias VerifyProgress = LatewoodStore.VerifyProgress

/// The bytes that a crash has left after the last commit.
public typealias TornTail = LatewoodStore.TornTail

/// Sizes and counts of a file: see ``Database/statistics()-3tjwr``.
public typealias Statistics = LatewoodStore.Statistics

extension Database {
  /// The ways in which a file can be read: see ``Configuration/reading``.
  public typealias Reading = Store.Reading
}
