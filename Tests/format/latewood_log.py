"""The header, the root slots and the log of a Latewood file: sections 3 to 7 of FORMAT.md."""

import hashlib
import struct
from collections import namedtuple

from latewood_ciphers import (
    EXTENT_UNIT, FRAME_UNIT, KEY_UNIT, NODE_UNIT, SLOT_UNIT, TRAILER_LENGTH, Cipher, argon2id)
from xxh64 import xxh64

COPIES = (0, 4096)
SLOTS = (8192, 12288)
FRAMES_START = 16384
SLOT_LENGTH = 64
FRAME_HEADER_LENGTH = 56
CHECKPOINT_LENGTH = 88
ANCHOR_LENGTH = 24
MAX_ANCHORS = 32
COMMIT, NODES, CHECKPOINT, SEAL = 1, 2, 3, 4
PUT, PUT_EXTENT, DELETE, DELETE_RANGE = 1, 2, 3, 4
CONTINUES = 1  # in a commit frame
ENDS = 1  # in a seal
MAX_KEY = 16384
MAX_VALUE = 2147483648
MAX_FULL_KEY = MAX_KEY + 4
MAX_BOUND = MAX_FULL_KEY + 1
MAX_NODE = 65535
MAX_FILE = 281474976710656
ENCRYPTED = 1  # in required features
WRAP_OFFSET = 1024  # in the block of a slot
WRAP_LENGTH = 128

FrameHeader = namedtuple(
    "FrameHeader", "checksum magic kind flags reserved own_offset transaction previous durable payload_length")
Slot = namedtuple("Slot", "checksum generation checkpoint checkpoint_checksum durable transaction time oldest_whole")
Checkpoint = namedtuple(
    "Checkpoint", "root_offset root_length root_checksum entries live_bytes root_level flags reserved"
    " replay replay_previous transaction time previous branch")


class Rejected(Exception):
    """The file is not one that this reader reads: not Latewood, or of another version."""


class Damaged(Exception):
    """Bytes that must be right are not."""

    def __init__(self, offset, reason):
        super().__init__(f"damaged at {offset}: {reason}")
        self.offset = offset
        self.reason = reason


class Units:
    """Proves the units of a file, and decrypts them if it is encrypted: sections 2 and 14."""

    def __init__(self, data, seed, cipher=None):
        self.data, self.seed, self.cipher = data, seed, cipher
        self.trailer = TRAILER_LENGTH if cipher else 0
        # The same offsets, with the text of each unit that was opened.
        self.plain = bytearray(data) if cipher else data

    def checksum(self, start, end):
        return xxh64(self.seed, self.data[start:end])

    def open(self, kind, start, end, clear):
        """Decrypts the unit between two offsets, whose checksum is right, into `plain`."""
        if not self.cipher:
            return
        unit = self.data[start:end]
        nonce = self.cipher.nonce_if_authentic(kind, start, unit, clear)
        if nonce is None:
            raise Damaged(start, "the tag of a unit is wrong")
        text = unit[clear:-TRAILER_LENGTH]
        self.plain[start + clear:start + clear + len(text)] = self.cipher.decrypted(nonce, text)

    def open_extent(self, start, end, checksum):
        """Section 6: proves a value and decrypts it."""
        if self.checksum(start, end + self.trailer) & 0xFFFFFFFF != checksum:
            raise Damaged(start, "the checksum of an extent is wrong")
        self.open(EXTENT_UNIT, start, end + self.trailer, 0)

    def open_node(self, start, end):
        self.open(NODE_UNIT, start, end, 40)


class Frame:
    """A frame that is valid by itself: magic, own offset and checksum are right."""

    def __init__(self, offset, header, trailer):
        self.offset = offset
        self.header = header
        self.payload = offset + FRAME_HEADER_LENGTH
        self.end = self.payload + header.payload_length
        if header.kind == SEAL and header.flags & ENDS:
            trailer = 0
        # The payload ends before the trailer. A nodes frame has its trailer after the header.
        self.content_end = self.end - trailer
        self.trailer = trailer
        self.proven = self.payload + trailer if header.kind == NODES else self.end

    @property
    def next(self):
        return (self.end + 7) & ~7


def file_units(data, key=None):
    """Section 3: checks the header, of which either copy may be lost, and gives what proves all other units.

    The key of an encrypted file is a password, or 32 bytes."""
    is_latewood = False
    for copy in COPIES:
        page = data[copy:copy + 4096]
        if page[:8] != b"LATEWOOD":
            continue
        is_latewood = True
        if len(page) < 4096:
            continue
        version, required = struct.unpack_from("<II", page, 8)
        if struct.unpack_from("<Q", page, 4088)[0] != xxh64(0, page[:4088]):
            continue
        if version != 1:
            raise Rejected(f"the format version is {version}")
        if required & ~ENCRYPTED:
            raise Rejected(f"the file requires features {required:#x}")
        seed = xxh64(0, page[16:32])
        if not required:
            return Units(data, seed)
        if page[64] not in (1, 2):
            raise Rejected("the ciphers are not known")
        if key is None:
            raise Rejected("the file is encrypted, and no key was given")
        return Units(data, seed, Cipher(page[64], file_key(data, seed, page[64], key), page[16:32]))
    if is_latewood:
        raise Damaged(0, "both copies of the header are damaged")
    raise Rejected("not a Latewood file")


def file_key(data, seed, suite, key):
    """Section 14: the key of an encrypted file, from either of two copies."""
    is_whole = False
    for slot in SLOTS:
        wrap = data[slot + WRAP_OFFSET:slot + WRAP_OFFSET + WRAP_LENGTH]
        if len(wrap) < WRAP_LENGTH or struct.unpack_from("<Q", wrap)[0] != xxh64(seed, wrap[8:]):
            continue
        is_whole = True
        code, first, second, third = struct.unpack_from("<BxxxIII", wrap, 8)
        salt = wrap[24:56]
        if isinstance(key, bytes):
            derived = key if code == 0 else None
        elif code == 1:
            derived = argon2id(key.encode("utf-8"), salt, second, first, third)
        else:
            derived = hashlib.pbkdf2_hmac("sha256", key.encode("utf-8"), salt, first) if code == 2 else None
        if derived is None:
            continue
        cipher = Cipher(suite, derived, bytes(16))
        nonce = cipher.nonce_if_authentic(KEY_UNIT, 0, wrap, 56)
        if nonce is not None:
            return cipher.decrypted(nonce, wrap[56:88])
    if not is_whole:
        raise Damaged(SLOTS[0] + WRAP_OFFSET, "both copies of the key are damaged")
    raise Rejected("the key is wrong")


def read_frame(data, units, offset):
    """The frame at `offset` if it is valid by itself, and else None."""
    if offset % 8 or offset < FRAMES_START or offset + FRAME_HEADER_LENGTH > len(data):
        return None
    header = FrameHeader(*struct.unpack_from("<Q4sBBHQQQQQ", data, offset))
    if header.magic != b"LWFR" or header.own_offset != offset:
        return None
    frame = Frame(offset, header, units.trailer)
    if not obeys(frame) or frame.proven > len(data):
        return None
    if units.checksum(offset + 8, frame.proven) != header.checksum:
        return None
    if header.kind != COMMIT and frame.trailer:
        units.open(FRAME_UNIT, offset, frame.proven, frame.proven - offset - units.trailer)
    return frame


def obeys(frame):
    """Whether the fields of a frame are what section 5 allows."""
    header = frame.header
    if header.reserved or frame.end > MAX_FILE or header.kind not in (COMMIT, NODES, CHECKPOINT, SEAL):
        return False
    if header.flags & ~(CONTINUES if header.kind == COMMIT else ENDS if header.kind == SEAL else 0):
        return False
    if header.kind == COMMIT and header.transaction == 0 or header.payload_length < frame.trailer:
        return False
    if header.kind == CHECKPOINT and not allows_checkpoint(header.payload_length, frame.trailer):
        return False
    return not (header.kind == SEAL and header.payload_length != frame.trailer)


def allows_checkpoint(payload_length, trailer):
    """Sections 5 and 14: whether a checkpoint can be so long. Only encrypted ones have anchors."""
    anchors = payload_length - CHECKPOINT_LENGTH - trailer
    return anchors == 0 or trailer > 0 and anchors in range(0, MAX_ANCHORS * ANCHOR_LENGTH + 1, ANCHOR_LENGTH)


def read_anchors(data, units, slot):
    """Section 14: the anchors in the checkpoint of an accepted slot: a transaction, and the halves of the id."""
    frame = read_frame(data, units, slot.checkpoint)
    places = range(frame.payload + CHECKPOINT_LENGTH, frame.content_end, ANCHOR_LENGTH)
    return [struct.unpack_from("<QQQ", data, at) for at in places]


def read_checkpoint(data, units, slot):
    """Section 7: the checkpoint a slot names, or None if it is not accepted."""
    frame = read_frame(data, units, slot.checkpoint)
    if frame is None or frame.header.kind != CHECKPOINT or frame.header.checksum != slot.checkpoint_checksum:
        return None
    checkpoint = Checkpoint(*struct.unpack_from("<QIIQQBB6sQQQQQQ", data, frame.payload))
    if checkpoint.flags > 1 or any(checkpoint.reserved):
        return None
    if checkpoint.replay % 8 or not FRAMES_START <= checkpoint.replay <= len(data):
        return None
    offset, length = checkpoint.root_offset, checkpoint.root_length
    if offset == 0:
        return checkpoint if length == 0 and checkpoint.entries == 0 else None
    is_within = FRAMES_START <= offset and offset + length <= frame.offset
    return checkpoint if is_within and offset % 64 == 0 and 1 <= length <= MAX_NODE else None


def read_slots(data, units):
    """Section 4: the newest valid slot, its checkpoint or None, and the floor that all slots give."""
    best, floor = None, 0
    for place, offset in enumerate(SLOTS):
        end = offset + SLOT_LENGTH + units.trailer
        if end > len(data):
            continue
        slot = Slot(*struct.unpack_from("<8Q", data, offset))
        if slot.checksum != units.checksum(offset + 8, end) or slot.generation % 2 != place:
            continue
        units.open(SLOT_UNIT, offset, end, SLOT_LENGTH)
        if slot.oldest_whole > slot.checkpoint or (slot.checkpoint == 0 and slot.checkpoint_checksum):
            continue
        floor = max(floor, slot.durable)
        checkpoint = read_checkpoint(data, units, slot) if slot.checkpoint else None
        if slot.checkpoint and checkpoint is None:
            continue
        if best is None or slot.generation > best[0].generation:
            best = (slot, checkpoint)
    if best is None:
        raise Damaged(SLOTS[0], "neither root slot is valid")
    return best[0], best[1], floor


class Log:
    """The walk of section 5: transactions that were committed, in order, and where the log ends."""

    def __init__(self, data, units, checkpoint, floor):
        self.committed = []  # (transaction number, [frames])
        self.newest = begun = checkpoint.transaction if checkpoint else 0
        position = checkpoint.replay if checkpoint else FRAMES_START
        previous = checkpoint.replay_previous if checkpoint else 0
        pending = []
        has_ended = False
        while True:
            frame = read_frame(data, units, position)
            if frame is None or frame.header.previous != previous:
                break
            if frame.header.kind == COMMIT and frame.header.transaction < begun:
                break
            has_ended = frame.header.kind == SEAL and frame.header.flags & ENDS
            # In an encrypted file, the seal of a backup has no tag: section 14.
            if not (has_ended and units.trailer):
                begun = max(begun, frame.header.transaction)
                floor = max(floor, frame.header.durable)
            if frame.header.kind == COMMIT:
                pending = self._take(frame, pending)
            previous, position = frame.header.checksum, frame.next
            if has_ended:
                break
        self.end, self.has_ended = position, has_ended
        if not has_ended:
            floor = max(floor, floor_after(data, units, position))
        if position < floor:
            raise Damaged(position, f"the log ends here, but was durable through {floor}")

    def _take(self, frame, pending):
        if pending and pending[0].header.transaction != frame.header.transaction:
            pending = []
        pending = pending + [frame]
        if frame.header.flags & CONTINUES:
            return pending
        self.committed.append((frame.header.transaction, pending))
        self.newest = max(self.newest, frame.header.transaction)
        return []


def floor_after(data, units, end):
    """The greatest *durable through* of the frames after the end of the walk that are valid by themselves."""
    floor = 0
    at = data.find(b"LWFR", end + 8)
    while at >= 0:
        if at % 8 == 0:
            frame = read_frame(data, units, at - 8)
            if frame:
                floor = max(floor, frame.header.durable)
        at = data.find(b"LWFR", at + 1)
    return floor


def read_varint(data, at, end):
    """Section 6: a number and the offset after it; None if there is none before `end` that obeys."""
    value = 0
    for index in range(10):
        if at + index >= end:
            return None
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return None if value >> 64 or (byte == 0 and index) else (value, at + index + 1)
    return None


def operations(units, frame):
    """Section 6: yields (code, full key or low, range of the value in the file or high)."""
    units.open(FRAME_UNIT, frame.offset, frame.end, FRAME_HEADER_LENGTH)
    at = frame.payload
    while at < frame.content_end:
        operation = read_operation(units, at, frame.content_end)
        if operation is None:
            raise Damaged(at, "an operation does not obey section 6")
        at = operation[3]
        yield operation[:3]


def read_operation(units, at, end):
    """The operation at `at` and the offset after it: (code, key, value or high, offset); None if it is wrong."""
    data = units.plain
    code = data[at]
    first = read_varint(data, at + 1, end)
    if first is None:
        return None
    second = (0, first[1]) if code == DELETE else read_varint(data, first[1], end)
    if second is None:
        return None
    checksum, key_at = None, second[1]
    if code == PUT_EXTENT:
        checksum, key_at = int.from_bytes(data[key_at:key_at + 4], "little"), key_at + 4
    value_at = key_at + first[0]
    after = value_at + second[0]
    if after > end:
        return None
    if code == DELETE_RANGE:
        is_legal = first[0] <= MAX_BOUND and second[0] <= MAX_BOUND
        return (code, bytes(data[key_at:value_at]), bytes(data[value_at:after]), after) if is_legal else None
    if code not in (PUT, PUT_EXTENT, DELETE) or not 5 <= first[0] <= MAX_FULL_KEY or second[0] > MAX_VALUE:
        return None
    if checksum is None:
        return code, bytes(data[key_at:value_at]), (value_at, after), after
    if after + units.trailer > end:
        return None
    units.open_extent(value_at, after, checksum)
    return code, bytes(data[key_at:value_at]), (value_at, after), after + units.trailer
