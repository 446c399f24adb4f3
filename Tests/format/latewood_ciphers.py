"""The ciphers of encrypted files, section 14 of FORMAT.md, as the standards describe them. Slow, and not constant time."""

import hashlib
import hmac
import struct


def _xor(left, right):
    return (int.from_bytes(left, "little") ^ int.from_bytes(right, "little")).to_bytes(len(left), "little")


# ChaCha20 (RFC 8439), HChaCha20 (draft-irtf-cfrg-xchacha-03)

CHACHA_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")


def _quarter(state, a, b, c, d):
    for first, second, third, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[first] = (state[first] + state[second]) & 0xFFFFFFFF
        word = state[third] ^ state[first]
        state[third] = (word << by | word >> 32 - by) & 0xFFFFFFFF


def _chacha_rounds(state):
    for _ in range(10):
        for column in range(4):
            _quarter(state, column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            _quarter(state, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return state


def hchacha20(key, nonce):
    state = _chacha_rounds([*CHACHA_CONSTANTS, *struct.unpack("<8I", key), *struct.unpack("<4I", nonce)])
    return struct.pack("<8I", *state[:4], *state[12:])


def chacha20_keystream(key, nonce, block, count):
    """Bytes of the keystream from a block on; the nonce has 12 bytes."""
    stream = b""
    while len(stream) < count:
        start = [*CHACHA_CONSTANTS, *struct.unpack("<8I", key), block, *struct.unpack("<3I", nonce)]
        stream += struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(_chacha_rounds(start[:]), start)))
        block += 1
    return stream[:count]


# AES-256 (FIPS 197)

def _double(byte):
    return (byte << 1 ^ (0x11B if byte & 0x80 else 0)) & 0xFF


def _make_sbox():
    """The inverse in the field of 256 elements, by powers of the generator 3, then the affine map."""
    box, p, q = [0] * 256, 1, 1
    while True:
        p = p ^ _double(p)
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        if q & 0x80:
            q ^= 0x09
        box[p] = q ^ 0x63 ^ _turn(q, 1) ^ _turn(q, 2) ^ _turn(q, 3) ^ _turn(q, 4)
        if p == 1:
            box[0] = 0x63
            return box


def _turn(byte, by):
    return (byte << by | byte >> 8 - by) & 0xFF


SBOX = _make_sbox()
TIMES2 = [_double(byte) for byte in range(256)]
SHIFTED = [4 * ((column + row) % 4) + row for column in range(4) for row in range(4)]


class AES256:
    def __init__(self, key):
        words, constant = [list(key[at:at + 4]) for at in range(0, 32, 4)], 1
        for index in range(8, 60):
            word = words[-1][:]
            if index % 8 == 0:
                word = [SBOX[byte] for byte in word[1:] + word[:1]]
                word[0] ^= constant
                constant = _double(constant)
            elif index % 8 == 4:
                word = [SBOX[byte] for byte in word]
            words.append([a ^ b for a, b in zip(words[-8], word)])
        self.keys = [sum(words[at:at + 4], []) for at in range(0, 60, 4)]

    def encrypt(self, block):
        state = [a ^ b for a, b in zip(block, self.keys[0])]
        for key in self.keys[1:-1]:
            state = [SBOX[state[at]] for at in SHIFTED]
            mixed = []
            for at in range(0, 16, 4):
                column = state[at:at + 4]
                every = column[0] ^ column[1] ^ column[2] ^ column[3]
                mixed += [column[i] ^ every ^ TIMES2[column[i] ^ column[(i + 1) % 4]] for i in range(4)]
            state = [a ^ b for a, b in zip(mixed, key)]
        return bytes(SBOX[state[at]] ^ key for at, key in zip(SHIFTED, self.keys[-1]))


# Poly1305 (RFC 8439, section 2.5), HKDF with SHA-256 (RFC 5869, section 2.3)

def poly1305(key, message):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    value = 0
    for at in range(0, len(message), 16):
        value = (value + int.from_bytes(message[at:at + 16] + b"\1", "little")) * r % ((1 << 130) - 5)
    return (value + int.from_bytes(key[16:], "little") & (1 << 128) - 1).to_bytes(16, "little")


def hkdf_expand(key, info):
    """The first 32 bytes."""
    return hmac.new(key, info + b"\1", hashlib.sha256).digest()


# Argon2id (RFC 9106)

def _long_hash(data, count):
    data = struct.pack("<I", count) + data
    if count <= 64:
        return hashlib.blake2b(data, digest_size=count).digest()
    digest = hashlib.blake2b(data).digest()
    result = digest[:32]
    while count - len(result) > 64:
        digest = hashlib.blake2b(digest).digest()
        result += digest[:32]
    return result + hashlib.blake2b(digest, digest_size=count - len(result)).digest()


MASK64 = (1 << 64) - 1


def _mix(words, a, b, c, d):
    for by1, by2 in ((32, 24), (16, 63)):
        for first, second, third, by in ((a, b, d, by1), (c, d, b, by2)):
            x, y = words[first], words[second]
            words[first] = x + y + 2 * (x & 0xFFFFFFFF) * (y & 0xFFFFFFFF) & MASK64
            word = words[third] ^ words[first]
            words[third] = (word >> by | word << 64 - by) & MASK64


def _permute(block, places):
    words = [block[place] for place in places]
    for column in range(4):
        _mix(words, column, 4 + column, 8 + column, 12 + column)
    for column in range(4):
        _mix(words, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    for place, word in zip(places, words):
        block[place] = word


def _compress(left, right):
    mixed = [a ^ b for a, b in zip(left, right)]
    block = mixed[:]
    for row in range(8):
        _permute(block, range(16 * row, 16 * row + 16))
    for column in range(8):
        _permute(block, [16 * row + 2 * column + half for row in range(8) for half in range(2)])
    return [a ^ b for a, b in zip(mixed, block)]


def argon2id(password, salt, kibibytes, passes, lanes):
    """A key of 32 bytes."""
    start = struct.pack("<6I", lanes, 32, kibibytes, passes, 0x13, 2)
    for part in (password, salt, b"", b""):
        start += struct.pack("<I", len(part)) + part
    start = hashlib.blake2b(start).digest()
    columns = kibibytes // (4 * lanes) * 4
    memory = [[struct.unpack("<128Q", _long_hash(start + struct.pack("<II", column, lane), 1024))
               for column in range(2)] + [None] * (columns - 2) for lane in range(lanes)]
    for number in range(passes):
        for quarter in range(4):
            for lane in range(lanes):
                _fill(memory, number, lane, quarter, columns, passes)
    last = [0] * 128
    for lane in memory:
        last = [a ^ b for a, b in zip(last, lane[-1])]
    return _long_hash(struct.pack("<128Q", *last), 32)


def _fill(memory, number, lane, quarter, columns, passes):
    lanes, segment = len(memory), columns // 4
    addresses = []
    for index in range(2 if number == quarter == 0 else 0, segment):
        column = quarter * segment + index
        before = memory[lane][column - 1]
        if number == 0 and quarter < 2:
            if not addresses:
                addresses = [None] * segment
            if addresses[index] is None:
                counter = index // 128 + 1
                given = [number, lane, quarter, columns * lanes, passes, 2, counter] + [0] * 121
                found = _compress([0] * 128, _compress([0] * 128, given))
                first = index // 128 * 128
                addresses[first:first + 128] = found[:min(128, segment - first)]
            word = addresses[index]
        else:
            word = before[0]
        low, high = word & 0xFFFFFFFF, word >> 32
        other = lane if number == quarter == 0 else high % lanes
        if number == 0:
            area = quarter * segment + (index - 1 if other == lane else -(index == 0))
            first = 0
        else:
            area = columns - segment + (index - 1 if other == lane else -(index == 0))
            first = (quarter + 1) % 4 * segment
        place = area - 1 - (area * (low * low >> 32) >> 32)
        block = _compress(before, memory[other][(first + place) % columns])
        if number:
            block = [a ^ b for a, b in zip(block, memory[lane][column])]
        memory[lane][column] = block


# The units of a file

AES_SUITE, CHACHA_SUITE = 1, 2
TRAILER_LENGTH = 40
SLOT_UNIT, FRAME_UNIT, NODE_UNIT, EXTENT_UNIT, KEY_UNIT = 1, 2, 3, 4, 5


class Cipher:
    """Opens the units of one file, or with a key that was derived and an id of zeros the key of the file."""

    def __init__(self, suite, key, file_id):
        self.suite, self.key, self.file_id = suite, key, file_id
        self.epochs = {}

    def keystream(self, nonce, start, count):
        """Bytes of the keystream of a unit, of which the first 32 are the key of Poly1305 and the text is next."""
        epoch, number = nonce[:16], nonce[16:]
        if self.suite == CHACHA_SUITE:
            key = self.epochs.setdefault(epoch, None) or hchacha20(self.key, epoch)
            self.epochs[epoch] = key
            # The text begins with the second block.
            at = start if start < 32 else start + 32
            stream = chacha20_keystream(key, bytes(4) + number, at // 64, at % 64 + count)
            return stream[at % 64:]
        if epoch not in self.epochs:
            self.epochs[epoch] = AES256(hkdf_expand(self.key, b"latewood aes-256 epoch" + epoch))
        cipher, stream, block = self.epochs[epoch], b"", start // 16
        while len(stream) < start % 16 + count:
            stream += cipher.encrypt(number[::-1] + block.to_bytes(8, "big"))
            block += 1
        return stream[start % 16:start % 16 + count]

    def nonce_if_authentic(self, kind, offset, unit, clear):
        """The nonce of a unit with `clear` bytes in the clear, or None if its tag is wrong."""
        text, nonce, tag = unit[clear:-TRAILER_LENGTH], unit[-TRAILER_LENGTH:-16], unit[-16:]
        associated = self.file_id + struct.pack("<QQ", kind, offset) + unit[min(8, clear):clear]
        message = b"".join(part + bytes(-len(part) % 16) for part in (associated, text))
        message += struct.pack("<QQ", len(associated), len(text))
        return nonce if poly1305(self.keystream(nonce, 0, 32), message) == tag else None

    def decrypted(self, nonce, text, start=0):
        """Decrypts bytes of a text that begin at `start` in it."""
        return _xor(text, self.keystream(nonce, 32 + start, len(text)))
