// The colour map viridis (Nathaniel J. Smith and Stefan van der Walt, 2015; CC0): even steps look even.
import { channels, hex } from "./palette";

/** Its colour at `share` of the way from dark violet (0) to yellow (1). */
export function viridis(share: number): string {
  const place = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const [low, high] = [channels(STOPS[below]), channels(STOPS[below + 1])];
  return hex(low.map((channel, at) => channel + (high[at] - channel) * (place - below)));
}

const STOPS = [
  "#440154",
  "#470d60",
  "#48186a",
  "#482374",
  "#472d7b",
  "#453781",
  "#424086",
  "#3e4989",
  "#3b528b",
  "#375b8d",
  "#33638d",
  "#2f6b8e",
  "#2c728e",
  "#297a8e",
  "#26828e",
  "#23898e",
  "#21918c",
  "#1f988b",
  "#1fa088",
  "#22a785",
  "#28ae80",
  "#32b67a",
  "#3fbc73",
  "#4ec36b",
  "#5ec962",
  "#70cf57",
  "#84d44b",
  "#98d83e",
  "#addc30",
  "#c2df23",
  "#d8e219",
  "#ece51b",
  "#fde725",
];
