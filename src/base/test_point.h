/* test_point.h - points at which a test may stop, kill or delay this process. Each call of the store and of
 * the HTTP client has a point before it and one after it, with the name of the call. The points exist only in
 * builds with the CMake option DUEPOST_TEST_POINTS. The environment variable DUEPOST_TEST_POINT selects a
 * point, an occurrence and an action: "before claim 3 kill" kills this process before its third claim. The
 * actions are kill, stop and delay (200 ms). When a point is reached for the first time, its name is appended
 * to the file in DUEPOST_TEST_POINTS_HIT. */
#ifndef DUEPOST_BASE_TEST_POINT_H
#define DUEPOST_BASE_TEST_POINT_H

#ifdef DUEPOST_TEST_POINTS
/* Acts if the selected point is reached. when is "before" or "after". call is a string that is never freed.
 * Any thread may call this function. */
void test_point(const char *when, const char *call);
#define TEST_POINT(when, call) test_point((when), (call))
#else
#define TEST_POINT(when, call) ((void)0)
#endif

#endif
