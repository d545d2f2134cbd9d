/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program around the whole of one layer: it links if all that the layer calls is below it.
 */
int main(void)
{
    return 0;
}
