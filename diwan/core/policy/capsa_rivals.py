"""What rows of a sensible opponent look like: 64 strengths a row, each as likely as the others.

They are the middles of the 64 equal parts into which the rows of 6,000 random hands fall when `capsa_sets` sets them, by
the default settings, against these very rows: found in four rounds from the server's arrangement (CS-29), held by a test.
Hands with a natural are left out, they are not set. Fronts are numbered from 0 (4-3-2) to 454 (three aces), middles and
backs by `evaluate`.
"""

from __future__ import annotations

from typing import Final

FRONTS: Final = (
    *(11, 36, 62, 85, 101, 111, 126, 139, 151, 157, 164, 177, 189, 198, 205, 209),
    *(215, 217, 219, 222, 239, 250, 255, 261, 264, 270, 272, 274, 278, 282, 283, 284),
    *(285, 285, 302, 328, 341, 352, 363, 369, 377, 381, 388, 391, 393, 400, 402, 404),
    *(405, 412, 414, 415, 417, 422, 425, 426, 427, 429, 429, 436, 438, 440, 441, 442),
)
MIDDLES: Final = (
    *(787, 1519, 2175, 2680, 3059, 3290, 3481, 3522, 3582, 3715, 3758, 3839, 3882, 3934, 3966, 4004),
    *(4040, 4083, 4107, 4138, 4163, 4191, 4217, 4238, 4261, 4282, 4296, 4321, 4342, 4359, 4382, 4413),
    *(4428, 4442, 4472, 4506, 4535, 4567, 4608, 4644, 4679, 4755, 5004, 5129, 5212, 5392, 5526, 5682),
    *(5854, 5855, 5855, 5856, 5857, 5858, 5859, 5860, 5861, 5862, 5926, 6122, 6361, 6702, 7157, 7205),
)
BACKS: Final = (
    *(3702, 4194, 4281, 4358, 4391, 4448, 4501, 4556, 4644, 4997, 5524, 5854, 5855, 5856, 5856, 5857),
    *(5858, 5859, 5859, 5860, 5860, 5861, 5862, 5862, 5863, 5885, 5966, 6034, 6115, 6180, 6249, 6334),
    *(6405, 6474, 6553, 6637, 6704, 6762, 6835, 6893, 6956, 7007, 7069, 7129, 7146, 7158, 7169, 7180),
    *(7191, 7202, 7208, 7218, 7228, 7238, 7244, 7252, 7262, 7269, 7276, 7284, 7291, 7339, 7409, 7457),
)
