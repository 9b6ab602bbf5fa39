#include "engine/gate/probe_options.hpp"

namespace vouch::engine {

std::vector<prompt_text> built_in_prompts() {
  return {
      {"chat",
       "user: My neighbour's cat keeps sleeping in our flower bed, and the "
       "tulips suffer. I like the cat, so nothing unkind, please. What could I "
       "plant, or put there, so that it chooses another place?\nassistant:"},
      {"German",
       "Als der Zug nach zwei Stunden immer noch auf freier Strecke stand, "
       "begannen die Reisenden, miteinander zu reden. Eine ältere Frau "
       "verteilte Äpfel, ein Junge las laut aus seinem Heft vor, und der "
       "Schaffner erzählte, warum es hier früher zwei Gleise gab. "},
      {"code",
       "def merge(intervals):\n    \"\"\"Joins the intervals that "
       "overlap.\"\"\"\n"
       "    result = []\n    for start, end in sorted(intervals):\n"
       "        if result and start <= result[-1][1]:\n"
       "            result[-1] = (result[-1][0], max(result[-1][1], end))\n"
       "        else:\n            result.append((start, end))\n"
       "    return result\n\n\ndef covered(intervals):\n"
       "    \"\"\"Total length that at least one interval covers.\"\"\"\n"},
      {"prose",
       "The lighthouse had been dark for eleven years when Marta bought it, "
       "together with the rowing boat, the rusted crane and a debt that nobody "
       "had mentioned. On the first evening she carried a chair up all of the "
       "hundred and forty steps, sat down where the lamp had been, and waited "
       "for the ships to wonder. "},
      {"Chinese and Russian",
       "今天早上下了一场大雨，街上的人都跑进了书店。老板给每个人倒了一杯热茶，"
       "说：慢慢看，不着急。 На другой день дождь кончился, и все вернулись, "
       "чтобы отдать книги, которые случайно унесли с собой. "},
      {"list",
       "1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 256, "},
  };
}

}  // namespace vouch::engine
