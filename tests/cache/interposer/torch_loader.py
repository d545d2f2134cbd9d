# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch's DataLoader with forked workers over a folder of samples."""

import sys
from pathlib import Path

import numpy
import torch
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, folder):
        self.paths = sorted(Path(folder).glob("*.npy"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return torch.from_numpy(numpy.load(self.paths[index]))


def main(folder):
    torch.manual_seed(3)
    loader = DataLoader(Samples(folder), batch_size=4, shuffle=True, num_workers=2)
    for _ in range(2):
        for batch in loader:
            print(batch.shape, float(batch.double().sum()))


if __name__ == "__main__":
    main(sys.argv[1])
