// How memory is best given back: whether the kernel counts what is committed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace arenite::os {

// Advise: the pages go, the range stays committed. Replace: fresh pages are mapped over the range, so that the commit
// charge falls, and so that no page of a privileged process is left behind.
enum class PurgeWay : std::uint8_t { kAdvise, kReplace };

// To be called once at the start, before purge_way().
void note_privilege(bool privileged);

// kReplace where vm.overcommit_memory is 2 or the process is privileged. The setting is read again once a second has
// passed since it was read last.
PurgeWay purge_way();

// os::purge() or os::replace(), by the way.
bool purge_pages(void* address, std::size_t bytes, PurgeWay way);

// The decision itself: what /proc/sys/vm/overcommit_memory says.
PurgeWay purge_way_for(std::string_view setting, bool privileged);

}  // namespace arenite::os
