/* tls_relay.h - the server's end of TLS for tests that write and read the bytes of a connection themselves.
 *
 * A thread for each connection makes the handshake, and passes on the bytes and the end of each direction.
 * If the server closes its end without having read all bytes, the client gets a reset. */
#ifndef DUEPOST_TESTS_TLS_RELAY_H
#define DUEPOST_TESTS_TLS_RELAY_H

#include <stddef.h>

struct tls_relay;

/* Returns the name of a file with the certificate of 127.0.0.1, which the relays use. The file is removed at
 * the end of the process. */
const char *tls_relay_certificate(void);

/* From now on, each relay sends this number of session tickets after the client's first bytes. */
void tls_relay_send_tickets(int number);

/* Returns the size of the tickets that a relay has sent, or 0 if the client did not take them all. */
size_t tls_relay_sent_tickets(void);

/* Takes the connection fd. Sets *plain_fd to a socket for the decrypted bytes, which the caller closes. */
struct tls_relay *tls_relay_begin(int fd, int *plain_fd);

/* Returns how many times the relays have told a client that the server sends no more bytes. */
int tls_relay_ends(void);

/* Returns how many clients have resumed a session. */
int tls_relay_resumed(void);

/* Waits for the end of the relay. The caller has closed plain_fd. */
void tls_relay_end(struct tls_relay *);

#endif
