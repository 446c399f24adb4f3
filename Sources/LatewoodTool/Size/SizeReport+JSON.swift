import LatewoodFleece

extension SizeReport {
  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("path", path)
    writer.member("holdsDocuments", holdsDocuments)
    writer.member("hasWriter", parts.hasWriter)
    writer.member("fileBytes", parts.fileBytes)
    writer.member("allocatedBytes", parts.allocatedBytes)
    writer.list("parts", sum) { writer, part in
      writer.member("part", part.name)
      writer.member("bytes", part.bytes)
    }
    writer.list("collections", collections) { writer, collection in
      writer.optional("name", text: collection.name)
      writer.member("documents", collection.documents)
      writer.member("contentBytes", collection.contentBytes)
      writer.member("bytes", collection.fileBytes)
      writer.list("kinds", collection.kinds) { writer, kind in
        writer.member("kind", kind.kind.rawValue)
        writer.member("entries", kind.entries)
        writer.member("contentBytes", kind.contentBytes)
        writer.member("bytes", kind.fileBytes)
      }
    }
    writer.list("largestDocuments", largestDocuments.items) { writer, found in
      writer.member("collection", found.item.collection)
      writer.member("id", found.item.size.id)
      writer.member("bodyBytes", found.item.size.bodyBytes)
      writer.member("supersededBytes", found.item.size.supersededBytes)
      writer.member("recordBytes", found.item.size.recordBytes)
      writer.member("revisions", found.item.size.revisions)
    }
    writer.list("rewrittenDocuments", rewrittenDocuments.items) { writer, found in
      writer.member("collection", found.item.collection)
      writer.member("id", found.item.size.id)
      writer.member("generation", found.item.size.generation)
      writer.member("revisions", found.item.size.revisions)
      writer.member("supersededBytes", found.item.size.supersededBytes)
    }
    writer.list("keyspaces", keyspaces) { writer, keyspace in
      writer.member("name", keyspace.content.name)
      writer.member("entries", keyspace.content.entries)
      writer.member("keyBytes", keyspace.content.keyBytes)
      writer.member("valueBytes", keyspace.content.valueBytes)
      writer.member("bytes", keyspace.facts.bytes)
      writer.member("largeValues", keyspace.facts.extents)
      writer.member("largeValueBytes", keyspace.facts.extentBytes)
    }
    writer.list("largestEntries", largestEntries.items) { writer, found in
      writer.member("keyspace", found.item.keyspace)
      writer.member("key", data: found.item.key)
      writer.member("valueBytes", found.item.valueBytes)
    }
    writer.member("faults", faults: faults)
    writer.array("incomplete", incomplete) { $0.text($1) }
    writer.key("savings")
    write(savings, to: &writer)
    writer.array("advice", SizeAdvice.all(about: self)) { writer, advice in advice.write(to: &writer) }
    writer.endDictionary()
  }

  private func write(_ savings: SizeSavings, to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("compactedBytes", savings.compactedBytes)
    writer.member("compactionSaves", allocatedBytesSaved)
    writer.member("supersededBytes", savings.supersededBytes)
    writer.member("unneededBlobs", savings.unneeded.unneeded)
    writer.member("unneededBlobBytes", savings.unneeded.unneededBytes)
    writer.member("unfinishedUploadBytes", savings.unfinishedUploadBytes)
    writer.member("expiredDocuments", savings.expired)
    writer.member("expiredBytes", savings.expiredBytes)
    writer.optional("depth", savings.depth)
    writer.member("tooDeepBytes", savings.tooDeepBytes)
    writer.list("pruning", savings.pruning) { writer, pruning in
      writer.member("depth", pruning.depth)
      writer.member("bytes", pruning.bytes)
    }
    writer.endDictionary()
  }
}
