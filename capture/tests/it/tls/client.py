"""A client of PostgreSQL or MySQL over TLS, from nothing but Python's own ssl module.

client.py ENGINE PORT KEYLOG VERSION CIPHERS SESSIONS [CERTIFICATE KEY] < statements

Runs the statements, one a line, in SESSIONS connections after one another; later ones resume the TLS session of the one
before where the server lets them. CIPHERS is for TLS 1.2. Fails when an answer is not complete.
"""

import socket
import ssl
import struct
import sys
import time

engine, port, keylog, version, ciphers, sessions, *certificate = sys.argv[1:]
statements = [line for line in sys.stdin.read().split("\n") if line]

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
context.keylog_filename = keylog
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
if ciphers != "-":
    context.set_ciphers(ciphers)
if certificate:
    context.load_cert_chain(*certificate)


def exactly(stream, n):
    data = b""
    while len(data) < n:
        more = stream.recv(n - len(data))
        assert more, "the server closed the connection"
        data += more
    return data


def wrap(plain, session):
    return context.wrap_socket(plain, server_hostname="db.example.com", session=session)


def postgresql(plain, session):
    def message(tag, body):
        return tag + struct.pack("!i", len(body) + 4) + body

    def ready(stream):
        while True:
            head = exactly(stream, 5)
            exactly(stream, struct.unpack("!i", head[1:])[0] - 4)
            assert head[:1] != b"E", "an error"
            if head[:1] == b"Z":
                return

    plain.sendall(struct.pack("!ii", 8, 80877103))
    assert exactly(plain, 1) == b"S"
    stream = wrap(plain, session)
    parameters = b"user\0postgres\0database\0postgres\0\0"
    stream.sendall(message(b"", struct.pack("!i", 196608) + parameters))
    ready(stream)
    for sql in statements:
        stream.sendall(message(b"Q", sql.encode() + b"\0"))
        ready(stream)
    extended = message(b"P", b"\0SELECT $1::text\0\0\0") + message(b"B", b"\0\0\0\0\0\1\0\0\0\5hello\0\0")
    stream.sendall(extended + message(b"E", b"\0\0\0\0\0") + message(b"S", b""))
    ready(stream)
    stream.sendall(message(b"X", b""))
    return stream


def mysql(plain, session):
    def packet(stream):
        head = exactly(stream, 4)
        return exactly(stream, int.from_bytes(head[:3], "little"))

    def send(stream, sequence, body):
        stream.sendall(len(body).to_bytes(3, "little") + bytes([sequence]) + body)

    def answer(stream):
        first = packet(stream)
        assert first[0] != 0xFF, first
        if first[0] == 0:
            return
        for _ in range(2):
            while True:
                row = packet(stream)
                assert row[0] != 0xFF, row
                if row[0] == 0xFE and len(row) < 9:
                    break

    packet(plain)
    # long password, protocol 4.1, TLS, transactions, secure connection, plugin authentication
    head = struct.pack("<IIB23x", 0x1 | 0x200 | 0x800 | 0x2000 | 0x8000 | 0x80000, 1 << 24, 45)
    send(plain, 1, head)
    stream = wrap(plain, session)
    send(stream, 2, head + b"root\0" + b"\0" + b"mysql_native_password\0")
    response = packet(stream)
    assert response[0] == 0, response
    for sql in statements:
        send(stream, 0, b"\3" + sql.encode())
        answer(stream)
    send(stream, 0, b"\1")
    return stream


session = None
for _ in range(int(sessions)):
    plain = socket.create_connection(("127.0.0.1", int(port)))
    stream = {"postgresql": postgresql, "mysql": mysql}[engine](plain, session)
    session = stream.session
    time.sleep(0.05)
    stream.close()
