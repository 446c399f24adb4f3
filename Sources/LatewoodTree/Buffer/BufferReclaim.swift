/// Reclaims nodes that are no longer reachable from any version.
///
/// A replaced node is reachable from every version from the one that created it up to, but not
/// including, the one that replaced it. It is assigned to the newest live version among these; when
/// that version ends, to the next older one; if no such version is left, it is freed. Therefore a
/// long-lived snapshot keeps only nodes that it can reach, and no node that was created and
/// replaced after it.
struct BufferReclaim {
  /// Replaced nodes, by the number of the version that keeps them alive.
  var held: [UInt64: [BufferTree.Retired]] = [:]
  /// The number of versions looked at so far.
  var visits = 0
}

extension BufferTree {
  /// Frees the nodes that no version can reach.
  ///
  /// - Parameters:
  ///   - published: number of the newest published version, which may still reach nodes that were
  ///     replaced later.
  ///   - live: numbers of all live versions, ascending, `published` among them.
  mutating func reclaim(_ state: inout BufferReclaim, published: UInt64, live: [UInt64]) {
    state.visits += live.count + state.held.count
    for (holder, nodes) in state.held where !Self.contains(live, holder) {
      state.held[holder] = nil
      for node in nodes { reassignOrFree(node, live, &state) }
    }
    var count = 0
    while count < retired.count, retired[count].died <= published {
      reassignOrFree(retired[count], live, &state)
      count += 1
    }
    retired.removeFirst(count)
  }

  private mutating func reassignOrFree(_ node: Retired, _ live: [UInt64], _ state: inout BufferReclaim) {
    let buffer = BufferNode(node.node)
    let newer = Self.firstIndex(live, node.died)
    if newer > 0, live[newer - 1] >= buffer.born {
      state.held[live[newer - 1], default: []].append(node)
    } else {
      slab.release(buffer)
    }
  }

  private static func firstIndex(_ numbers: [UInt64], _ number: UInt64) -> Int {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func contains(_ numbers: [UInt64], _ number: UInt64) -> Bool {
    let index = firstIndex(numbers, number)
    return index < numbers.count && numbers[index] == number
  }
}
