// What the ranks of a world of processes are told when one of them goes.

#include <gtest/gtest.h>
