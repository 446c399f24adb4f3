/// Reclaims the nodes that no version reaches any more.
///
/// A replaced node is reachable from the versions between the one that made it and the one that
/// replaced it. The newest live version among these keeps it; when that version goes, the next
/// older one does; when there is none, the node is free. So a long-lived snapshot keeps only nodes
/// that it can reach, and none that were made and replaced after it.
struct BufferReclaim {
  /// Replaced nodes, by the number of the version that keeps them.
  var held: [UInt64: [BufferTree.Retired]] = [:]
}

extension BufferTree {
  /// Frees the nodes that no version reaches.
  ///
  /// - Parameters:
  ///   - published: number of the newest published version, which may still reach nodes replaced
  ///     later.
  ///   - live: numbers of all live versions, ascending, `published` among them.
  mutating func reclaim(_ state: inout BufferReclaim, published: UInt64, live: [UInt64]) {
    for (holder, nodes) in state.held where !Self.contains(live, holder) {
      state.held[holder] = nil
      for node in nodes { settle(node, live, &state) }
    }
    var count = 0
    while count < retired.count, retired[count].died <= published {
      settle(retired[count], live, &state)
      count += 1
    }
    retired.removeFirst(count)
  }

  private mutating func settle(_ node: Retired, _ live: [UInt64], _ state: inout BufferReclaim) {
    let buffer = BufferNode(node.node)
    let newer = Self.firstNotBelow(live, node.died)
    if newer > 0, live[newer - 1] >= buffer.born {
      state.held[live[newer - 1], default: []].append(node)
    } else {
      slab.release(buffer)
    }
  }

  private static func firstNotBelow(_ numbers: [UInt64], _ number: UInt64) -> Int {
    var low = 0
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func contains(_ numbers: [UInt64], _ number: UInt64) -> Bool {
    let index = firstNotBelow(numbers, number)
    return index < numbers.count && numbers[index] == number
  }
}
