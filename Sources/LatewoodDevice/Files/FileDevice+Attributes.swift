import LatewoodBytes

/// Copies a file's owner, permissions and attributes to another.
extension FileDevice {
  package func copyAttributes(from other: any Device) throws(StorageError) {
    guard let other = other.file as? FileDevice else { return }
    try other.descriptor.use { source throws(StorageError) in
      try descriptor.use { target throws(StorageError) in try copyAttributes(source, target) }
    }
  }

  private func copyAttributes(_ source: Int32, _ target: Int32) throws(StorageError) {
    var isChanged = try copyOwner(source, target)
    do throws(ErrorNumber) {
      isChanged = try copyExtended(source, target) || isChanged
      try SystemCalls.copyAccessList(from: source, to: target)
      // The permissions are set last, because setting or removing a list changes the permissions of
      // the group.
      let permissions = try SystemCalls.status(source).permissions
      if try SystemCalls.status(target).permissions != permissions {
        try SystemCalls.setPermissions(target, permissions)
        isChanged = true
      }
      // A sync of only the data need not record these changes.
      if isChanged { try retried { () throws(ErrorNumber) in try SystemCalls.syncAll(target) } }
    } catch {
      throw StorageError(error, "give the new file the permissions and attributes of the old one", path: path)
    }
  }

  private func copyOwner(_ source: Int32, _ target: Int32) throws(StorageError) -> Bool {
    let wanted: SystemCalls.Status
    let found: SystemCalls.Status
    do throws(ErrorNumber) {
      wanted = try SystemCalls.status(source)
      found = try SystemCalls.status(target)
    } catch {
      throw StorageError(error, "ask for the owner of the file", path: path)
    }
    if wanted.user == found.user, wanted.group == found.group { return false }
    do throws(ErrorNumber) {
      try SystemCalls.setOwner(target, user: wanted.user, group: wanted.group)
      return true
    } catch {
      // A group without permissions does not matter.
      if wanted.user == found.user, wanted.permissions & 0o070 == 0 { return false }
      throw StorageError(
        .permissionDenied,
        "the new file cannot be given the owner of this one, user \(wanted.user) and group \(wanted.group)",
        errno: error.code, path: path,
        advice: "Compact as that user and with that group, or as root; or make a copy, which belongs to you.")
    }
  }

  /// Copies the extended attributes of the source, except for the system's own.
  private func copyExtended(_ source: Int32, _ target: Int32) throws(ErrorNumber) -> Bool {
    let (wanted, found) = try (FileDevice.attributes(source), FileDevice.attributes(target))
    if wanted == found { return false }
    for name in found.keys where wanted[name] == nil {
      try FileDevice.attempt(name) { () throws(ErrorNumber) in try SystemCalls.removeAttribute(target, name) }
    }
    for (name, bytes) in wanted where found[name] != bytes {
      try FileDevice.attempt(name) { () throws(ErrorNumber) in
        try SystemCalls.setAttribute(target, name, bytes)
      }
    }
    return true
  }

  /// The extended attributes to copy: those set by the file's owner, access control lists, and
  /// security labels. Empty if the file system does not support them.
  private static func attributes(_ descriptor: Int32) throws(ErrorNumber) -> [String: [UInt8]] {
    var attributes: [String: [UInt8]] = [:]
    do throws(ErrorNumber) {
      for name in try SystemCalls.attributeNames(descriptor) where isKept(name) {
        try attempt(name) { () throws(ErrorNumber) in
          attributes[name] = try SystemCalls.attribute(descriptor, name)
        }
      }
    } catch {
      guard error == .notSupported || error == .noSuchCall else { throw error }
    }
    return attributes
  }

  private static let labels: Set = ["security.selinux", "security.SMACK64"]

  private static func isKept(_ name: String) -> Bool {
    labels.contains(name) || !(name.hasPrefix("security.") || name.hasPrefix("trusted."))
  }

  /// Runs `body` and ignores its error unless the attribute is an access control list. Without its
  /// list, the file could be opened by other users than before; without any other attribute, it is
  /// as safe as before.
  private static func attempt(
    _ name: String, _ body: () throws(ErrorNumber) -> Void
  ) throws(ErrorNumber) {
    do throws(ErrorNumber) {
      try body()
    } catch {
      if name.hasPrefix("system.") { throw error }
    }
  }
}
