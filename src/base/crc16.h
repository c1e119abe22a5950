/* crc16.h - CRC-16/XMODEM, the checksum with which Redis Cluster assigns keys to slots. */
#ifndef DUEPOST_BASE_CRC16_H
#define DUEPOST_BASE_CRC16_H

#include "base/slice.h"

uint16_t crc16(struct slice text);

#endif
