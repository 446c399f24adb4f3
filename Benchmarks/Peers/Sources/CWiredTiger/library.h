#include <stddef.h>
#include <wiredtiger.h>

// WT_CURSOR passes keys and values through functions with a variable number of arguments, which
// Swift does not import. These are the same for raw bytes (the format "u").

static inline void wiredtiger_set_key(WT_CURSOR *cursor, const void *bytes, size_t count) {
  WT_ITEM item = {0};
  item.data = bytes;
  item.size = count;
  cursor->set_key(cursor, &item);
}

static inline void wiredtiger_set_value(WT_CURSOR *cursor, const void *bytes, size_t count) {
  WT_ITEM item = {0};
  item.data = bytes;
  item.size = count;
  cursor->set_value(cursor, &item);
}

static inline int wiredtiger_get_key(WT_CURSOR *cursor, WT_ITEM *item) {
  return cursor->get_key(cursor, item);
}

static inline int wiredtiger_get_value(WT_CURSOR *cursor, WT_ITEM *item) {
  return cursor->get_value(cursor, item);
}
