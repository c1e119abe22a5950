/* test_point.h - places at which a test may stop, kill or delay this process: one before and one after each
 * call of the store and of the HTTP client, named like the call.
 *
 * They exist where the CMake option DUEPOST_TEST_POINTS is on. In the environment DUEPOST_TEST_POINT is one to
 * act on, "before claim 3 kill" for its third time; actions: kill, stop, delay, which is 200 ms. Each point
 * appends its name to the file DUEPOST_TEST_POINTS_HIT when it is come by first. */
#ifndef DUEPOST_BASE_TEST_POINT_H
#define DUEPOST_BASE_TEST_POINT_H

#ifdef DUEPOST_TEST_POINTS
/* when: "before" or "after". call: a literal, or one that lives as long as the process. From any thread. */
void test_point(const char *when, const char *call);
#define TEST_POINT(when, call) test_point((when), (call))
#else
#define TEST_POINT(when, call) ((void)0)
#endif

#endif
