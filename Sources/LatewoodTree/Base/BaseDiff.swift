import LatewoodBytes
import LatewoodFile

/// A key whose entry differs between two trees.
struct BaseChange {
  let key: PrefixedKey
  /// The value in the older tree; nil if it does not have the key.
  let before: BaseValue?
  /// The value in the newer tree; nil if it does not have the key.
  let after: BaseValue?
}

/// Finds the differences between two trees without reading the parts that they share.
///
/// Walks both in key order. The next item in each is an unopened subtree or an entry. If both have
/// the same subtree next, it is skipped. Otherwise the subtree that starts lower is opened; if both
/// start at the same key, the taller one is. Therefore only nodes that the trees do not share are
/// read, regardless of their heights and leaf boundaries.
///
/// Throws `damaged` if a tree's nodes are together longer than the file, because some of them occur
/// in it many times.
struct BaseDiff {
  private var old: DiffSide
  private var new: DiffSide

  init(from old: BaseTree, to new: BaseTree) {
    self.old = DiffSide(old)
    self.new = DiffSide(new)
  }

  /// The number of nodes opened so far in both trees.
  var nodesRead: Int { old.nodesRead + new.nodesRead }

  /// Calls `body` with each change in key order until `body` returns false, and then returns false.
  mutating func run(_ body: (BaseChange) throws(StorageError) -> Bool) throws(StorageError) -> Bool {
    while true {
      switch (old.next, new.next) {
      case (.end, .end): return true
      case (.subtree(let mine, let low), .subtree(let theirs, let otherLow)):
        if mine == theirs {
          old.skip()
          new.skip()
        } else {
          let order = low.compare(otherLow)
          if order < 0 || (order == 0 && mine.level >= theirs.level) {
            try old.open()
          } else {
            try new.open()
          }
        }
      case (.subtree(_, let low), .entry(let key, let value)):
        if key.compare(low) < 0 {
          guard try body(BaseChange(key: key, before: nil, after: value)) else { return false }
          new.skip()
        } else {
          try old.open()
        }
      case (.entry(let key, let value), .subtree(_, let low)):
        if key.compare(low) < 0 {
          guard try body(BaseChange(key: key, before: value, after: nil)) else { return false }
          old.skip()
        } else {
          try new.open()
        }
      case (.subtree, .end): try old.open()
      case (.end, .subtree): try new.open()
      case (.entry(let key, let value), .end):
        guard try body(BaseChange(key: key, before: value, after: nil)) else { return false }
        old.skip()
      case (.end, .entry(let key, let value)):
        guard try body(BaseChange(key: key, before: nil, after: value)) else { return false }
        new.skip()
      case (.entry(let key, let value), .entry(let otherKey, let otherValue)):
        let order = key.compare(otherKey)
        if order != 0 || !value.isSame(otherValue) {
          let change = BaseChange(
            key: order <= 0 ? key : otherKey, before: order <= 0 ? value : nil,
            after: order >= 0 ? otherValue : nil)
          guard try body(change) else { return false }
        }
        if order <= 0 { old.skip() }
        if order >= 0 { new.skip() }
      }
    }
  }
}

/// One of the two trees of a diff, with its next entry or subtree.
private struct DiffSide {
  enum Next {
    /// An unread subtree, and a lower bound of its keys.
    case subtree(Subtree, PrefixedKey)
    case entry(PrefixedKey, BaseValue)
    case end
  }

  private struct Step {
    let node: Node
    let low: PrefixedKey
    var index = 0
  }

  private let source: NodeLoader
  private var path: [Step] = []
  private(set) var next: Next
  private(set) var nodesRead = 0
  private var bytesRead: UInt64 = 0

  init(_ tree: BaseTree) {
    source = tree.source
    next = tree.root.map { .subtree($0, PrefixedKey(tree.source.file.base, 0)) } ?? .end
  }

  /// Opens the next subtree.
  mutating func open() throws(StorageError) {
    guard case .subtree(let subtree, let low) = next else { return }
    nodesRead += 1
    bytesRead &+= UInt64(subtree.reference.length)
    guard bytesRead <= source.file.limit else {
      throw StorageError.damaged(
        at: subtree.reference.offset, "the nodes of the tree are longer than the file: some occur many times")
    }
    path.append(Step(node: try source.root(subtree), low: low))
    loadNext()
  }

  /// Skips the next entry or subtree.
  mutating func skip() {
    while var top = path.popLast() {
      top.index += 1
      if top.index < top.node.count {
        path.append(top)
        return loadNext()
      }
    }
    next = .end
  }

  private mutating func loadNext() {
    guard let top = path.last else {
      next = .end
      return
    }
    if top.node.isLeaf {
      next = .entry(top.node.key(top.index), top.node.entry(top.index).value)
    } else {
      next = .subtree(
        top.node.childSubtree(top.index), top.index == 0 ? top.low : top.node.separator(top.index))
    }
  }
}
