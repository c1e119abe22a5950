/* crc16.h - the checksum by which Redis Cluster spreads keys over slots: CRC-16/XMODEM. */
#ifndef DUEPOST_BASE_CRC16_H
#define DUEPOST_BASE_CRC16_H

#include "base/slice.h"

uint16_t crc16(struct slice text);

#endif
