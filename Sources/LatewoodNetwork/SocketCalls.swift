#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Thin wrappers of the C library's calls for sockets, without policy. Descriptors are non-blocking
/// and closed on exec, and writing to a closed connection fails instead of ending the process.
enum SocketCalls {
  /// An error number of a call.
  struct Failure: Error, Equatable {
    let number: Int32

    /// The system's description of the error.
    var reason: String { String(cString: strerror(number)) }

    var wouldBlock: Bool { number == EAGAIN || number == EWOULDBLOCK }
    var isInterrupted: Bool { number == EINTR }
    var isInProgress: Bool { number == EINPROGRESS || number == EINTR }
    /// Whether there are too few descriptors or too little memory.
    var isShortage: Bool { number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM }

    static let noAddress = Failure(number: EADDRNOTAVAIL)

    static var last: Failure { Failure(number: errno) }
  }

  /// An address to connect to or to listen at.
  struct Address: Sendable {
    let family: Int32
    /// The bytes of a `sockaddr`.
    let bytes: [UInt8]
  }

  #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
  #else
    private static let streamType = SOCK_STREAM
  #endif
  #if canImport(Darwin)
    private static let sendFlags: Int32 = 0
  #else
    private static let sendFlags = Int32(MSG_NOSIGNAL)
  #endif

  /// Returns the addresses of a host. May block while a name server answers.
  ///
  /// - Parameter isNumeric: whether `host` must be an address.
  static func addresses(_ host: String, port: UInt16, isNumeric: Bool = false) throws(Failure) -> [Address] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = streamType
    if isNumeric { hints.ai_flags = AI_NUMERICHOST }
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { throw Failure(number: EADDRNOTAVAIL) }
    defer { freeaddrinfo(list) }
    var addresses: [Address] = []
    var next = list
    // SAFETY: the list ends with nil, and each address has the length that its entry names.
    while let entry = next {
      if let address = entry.pointee.ai_addr {
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen))
        addresses.append(Address(family: entry.pointee.ai_family, bytes: Array(bytes)))
      }
      next = entry.pointee.ai_next
    }
    return addresses
  }

  static func socket(_ address: Address) throws(Failure) -> Int32 {
    #if canImport(Glibc)
      let descriptor = Glibc.socket(address.family, streamType, 0)
    #elseif canImport(Musl)
      let descriptor = Musl.socket(address.family, streamType, 0)
    #else
      let descriptor = Darwin.socket(address.family, streamType, 0)
    #endif
    guard descriptor >= 0 else { throw .last }
    do throws(Failure) {
      try prepare(descriptor)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func prepare(_ descriptor: Int32) throws(Failure) {
    guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0,
      fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0
    else { throw .last }
    // Without this, every request after a response waits 40 ms for a delayed acknowledgement.
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
    #if canImport(Darwin)
      set(descriptor, SOL_SOCKET, SO_NOSIGPIPE)
    #endif
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32) {
    var on: Int32 = 1
    _ = setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Begins to connect; fails with `isInProgress` if the connection is not made immediately.
  static func connect(_ descriptor: Int32, _ address: Address) throws(Failure) {
    let result = withAddress(address) { pointer, length in
      #if canImport(Glibc)
        Glibc.connect(descriptor, pointer, length)
      #elseif canImport(Musl)
        Musl.connect(descriptor, pointer, length)
      #else
        Darwin.connect(descriptor, pointer, length)
      #endif
    }
    guard result == 0 else { throw .last }
  }

  /// Returns the outcome of a connection attempt that has ended.
  static func connectionFailure(_ descriptor: Int32) -> Failure? {
    var number: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return .last }
    return number == 0 ? nil : Failure(number: number)
  }

  /// Binds and listens. Returns the port.
  static func listen(_ descriptor: Int32, _ address: Address, backlog: Int32) throws(Failure) -> UInt16 {
    set(descriptor, SOL_SOCKET, SO_REUSEADDR)
    let result = withAddress(address) { pointer, length in
      #if canImport(Glibc)
        Glibc.bind(descriptor, pointer, length)
      #elseif canImport(Musl)
        Musl.bind(descriptor, pointer, length)
      #else
        Darwin.bind(descriptor, pointer, length)
      #endif
    }
    guard result == 0 else { throw .last }
    #if canImport(Glibc)
      guard Glibc.listen(descriptor, backlog) == 0 else { throw .last }
    #elseif canImport(Musl)
      guard Musl.listen(descriptor, backlog) == 0 else { throw .last }
    #else
      guard Darwin.listen(descriptor, backlog) == 0 else { throw .last }
    #endif
    return try port(descriptor)
  }

  private static func port(_ descriptor: Int32) throws(Failure) -> UInt16 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      // SAFETY: `sockaddr_storage` is large enough for every address, and begins like one.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard result == 0 else { throw .last }
    // The port is at the same offset in the addresses of IPv4 and IPv6, in network order.
    return withUnsafeBytes(of: storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
  }

  static func accept(_ descriptor: Int32) throws(Failure) -> Int32 {
    #if canImport(Glibc)
      let accepted = Glibc.accept(descriptor, nil, nil)
    #elseif canImport(Musl)
      let accepted = Musl.accept(descriptor, nil, nil)
    #else
      let accepted = Darwin.accept(descriptor, nil, nil)
    #endif
    guard accepted >= 0 else { throw .last }
    do throws(Failure) {
      try prepare(accepted)
      return accepted
    } catch {
      close(accepted)
      throw error
    }
  }

  /// Returns the address of the other end of a connection; empty if it is not known.
  static func peerAddress(_ descriptor: Int32) -> String {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      // SAFETY: `sockaddr_storage` is large enough for every address, and begins like one. The text
      // has the length that is passed with it.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
        guard getpeername(descriptor, address, &length) == 0 else { return -1 }
        return getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
      }
    }
    guard result == 0 else { return "" }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Reads at most `count` bytes; none at the end of the connection.
  static func receive(_ descriptor: Int32, _ count: Int) throws(Failure) -> [UInt8] {
    var failure: Failure?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let result = recv(descriptor, buffer.baseAddress, count, 0)
      if result < 0 { failure = .last }
      initialized = max(result, 0)
    }
    if let failure { throw failure }
    return bytes
  }

  /// Writes bytes from an offset; returns the number of bytes written.
  static func send(_ descriptor: Int32, _ bytes: [UInt8], from offset: Int) throws(Failure) -> Int {
    let result = bytes.withUnsafeBytes { buffer in
      #if canImport(Glibc)
        Glibc.send(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset, sendFlags)
      #elseif canImport(Musl)
        Musl.send(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset, sendFlags)
      #else
        Darwin.send(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset, sendFlags)
      #endif
    }
    guard result >= 0 else { throw .last }
    return result
  }

  static func close(_ descriptor: Int32) {
    #if canImport(Glibc)
      _ = Glibc.close(descriptor)
    #elseif canImport(Musl)
      _ = Musl.close(descriptor)
    #else
      _ = Darwin.close(descriptor)
    #endif
  }

  private static func withAddress(
    _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    address.bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      // SAFETY: the bytes are a copy of a `sockaddr`, and the call reads only as many as it is
      // passed.
      return body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
