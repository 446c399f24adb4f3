import LatewoodDocuments

/// Arbitrary bytes as the record of a document: accepted bytes are in canonical form, and their
/// tree can be used.
final class RecordTarget: FuzzTarget {
  func run(_ input: UnsafeRawBufferPointer) {
    var head: DocumentRecord.Head?
    tolerate { head = try DocumentRecord.Head(input) }
    let record: DocumentRecord
    do throws(DatabaseError) { record = try DocumentRecord(input) } catch {
      if error.code != .corruptRevisionData { find("another error than that of damage: \(error)") }
      return
    }
    guard let head else { find("a record without a head") }
    guard head.winner == record.tree.winner?.id, head.sequence == record.sequence,
      head.expiry == record.expiry
    else { find("the head is not that of the record") }
    let encoded = record.encoded()
    do throws(DatabaseError) {
      let again = try encoded.withUnsafeBytes { bytes in
        Result { () throws(DatabaseError) -> DocumentRecord in try DocumentRecord(bytes) }
      }.get()
      if again != record { find("a record is another one after writing it") }
    } catch {
      find("a record that was written cannot be read: \(error)")
    }
    work(with: record.tree)
  }

  private func work(with tree: RevisionTree) {
    let leaves = tree.leaves
    if leaves.first != tree.winner { find("the first leaf is not the winner") }
    for leaf in leaves {
      if tree.history(of: leaf.id).first != leaf { find("a history does not begin with its revision") }
      _ = tree.commonAncestor(leaf.id, leaves[0].id)
    }
    if !tree.missing(of: leaves.map(\.id)).isEmpty { find("a leaf is missing from its own tree") }
    _ = tree.possibleAncestors(of: leaves.map(\.id))
    var pruned = tree
    _ = pruned.prune(to: 2)
    if pruned.winner?.id != tree.winner?.id { find("pruning changed the winner") }
    if pruned.leaves.count != leaves.count { find("pruning took a leaf") }
    var purged = tree
    if purged.purge(leaves.map(\.id)).count != leaves.count || !purged.isEmpty {
      find("not everything is gone after all leaves were purged")
    }
  }
}
