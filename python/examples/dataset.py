# SPDX-License-Identifier: BSD-3-Clause
"""A PyTorch data set whose files are read through the file cache: nothing in it knows of that. Each
node's program reads its share in every epoch; only the first epoch's bytes come from the file
system, and those once for all nodes.

    rhinet cache run -n 2 --path FOLDER python3 dataset.py FOLDER

Without PyTorch the samples are read in a plain loop, and a line says so."""

import os
import sys

import rhinet

try:
    import torch
    from torch.utils.data import DataLoader, Dataset
except ImportError:
    torch, Dataset = None, object

EPOCHS = 2


class Files(Dataset):
    """One sample for each file of a folder: its bytes."""

    def __init__(self, folder):
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            data = file.read()
        return torch.frombuffer(bytearray(data), dtype=torch.uint8) if torch else data


def samples(files):
    if torch is None:
        return (files[i] for i in range(len(files)))
    return DataLoader(files, batch_size=None, num_workers=0)


def main():
    files = Files(sys.argv[1])
    if torch is None:
        print("PyTorch is not installed: skipped, a plain loop reads instead", flush=True)
    count = sum(len(sample) for _ in range(EPOCHS) for sample in samples(files))
    print(f"{len(files)} files, {EPOCHS} epochs, {count} bytes", flush=True)
    for node in rhinet.cache_statistics(files=0):
        print(f"node {node['node']} of job {node['job']}: "
              + ", ".join(f"{name} {value}" for name, value in sorted(node.items())
                          if name.endswith("_bytes")), flush=True)


if __name__ == "__main__":
    main()
