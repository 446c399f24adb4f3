#!/usr/bin/env python3
"""A server with TLS in front of one without it, for tests.

usage: proxy.py DIRECTORY NAME PORT

Presents the certificate NAME.pem with the key NAME.key of the directory, prints the port at which it
listens on loopback, and passes all bytes on to PORT. Ends when its standard input does.
"""
import os
import socket
import ssl
import sys
import threading

directory, name, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{directory}/{name}.pem", f"{directory}/{name}.key")


def copy(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            end.close()


def serve(client):
    try:
        secure = context.wrap_socket(client, server_side=True)
    except OSError:
        return client.close()
    plain = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=copy, args=(secure, plain), daemon=True).start()
    copy(plain, secure)
    secure.close()


def end_with_parent():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 0), backlog=64)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
