#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""layers.py > layers.svg: the picture of the README, in its light and dark colours. The test
`picture` compares the file with what this prints."""

WIDTH, HEIGHT, LEFT, ROW = 760, 428, 20, 52
STYLE = """
  text { font: 15px sans-serif; fill: #1f2328; }
  .small { font-size: 12.5px; fill: #59636e; }
  .box { fill: #eef4fb; stroke: #5b8bbf; }
  .core { fill: #dcebdc; stroke: #4f8a50; }
  .nic { fill: #fbf1e0; stroke: #b5893c; }
  .line { stroke: #818b98; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #a8b3bf; }
    .box { fill: #14263a; stroke: #6ea3d8; }
    .core { fill: #16301a; stroke: #74b577; }
    .nic { fill: #33270f; stroke: #d8ab5c; }
    .line { stroke: #8b949e; }
  }"""

# Each row from the top: boxes of (words, explanation, class), which share its width.
ROWS = [
    [("your program", "C, C++; unchanged programs for the file cache", "box")],
    [("file cache", "one cache for all nodes", "box"),
     ("shared memory", "variables, pages", "box"),
     ("PM", "the old interface", "box")],
    [("messages", "send, receive, locks, barriers, collectives", "core")],
    [("remote memory", "push, pull, store, append, atomics, exchange; protection", "core")],
    [("jobs", "ranks, start-up, deaths: rhinet run, mpirun, srun", "core")],
    [("shm", "one machine", "nic"), ("ofi", "libfabric", "nic"), ("mixed", "both", "nic"),
     ("martini", "simulated", "nic"), ("fault", "breaks them", "nic")],
]
ASIDE = ("rhinet route makes the tables of the network below; "
         "rhinet sim is that network, with its controllers, in virtual time")


def boxes(row, top):
    gap = 10
    width = (WIDTH - 2 * LEFT - gap * (len(row) - 1)) / len(row)
    for index, (words, explanation, kind) in enumerate(row):
        left = LEFT + index * (width + gap)
        middle = left + width / 2
        yield (f'<rect class="{kind}" x="{left:.0f}" y="{top}" width="{width:.0f}" '
               f'height="{ROW}" rx="7"/>')
        yield f'<text x="{middle:.0f}" y="{top + 22}" text-anchor="middle">{words}</text>'
        yield (f'<text class="small" x="{middle:.0f}" y="{top + 41}" '
               f'text-anchor="middle">{explanation}</text>')


def main():
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
          f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="title">')
    print('<!-- SPDX-License-Identifier: BSD-3-Clause; made by layers.py -->')
    print('<title id="title">The layers of rhinet: programs, file cache and shared memory, '
          'messages, remote memory, jobs, network controllers</title>')
    print(f"<style>{STYLE}\n</style>")
    for index, row in enumerate(ROWS):
        top = 12 + index * (ROW + 12)
        if index > 0:
            print(f'<line class="line" x1="{WIDTH / 2:.0f}" y1="{top - 12}" '
                  f'x2="{WIDTH / 2:.0f}" y2="{top}"/>')
        print("\n".join(boxes(row, top)))
    print(f'<text class="small" x="{WIDTH / 2:.0f}" y="{HEIGHT - 14}" '
          f'text-anchor="middle">{ASIDE}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
