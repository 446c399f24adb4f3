/// Giving back the nodes that no version reaches any more.
///
/// A node that was replaced is seen by the versions from the one that made it up to, not including,
/// the one that replaced it. It hangs on the newest live version among these; when that goes, on
/// the next older one; when there is none, it is free. So a snapshot that is held for long keeps
/// what it can see and nothing that came and went after it.
struct BufferReclaim {
  /// Nodes by the number of the version that keeps them.
  var held: [UInt64: [BufferTree.Retired]] = [:]
}

extension BufferTree {
  /// Frees what it can.
  ///
  /// - Parameters:
  ///   - published: number of the newest published version; what died later is still to be seen by
  ///     it.
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
