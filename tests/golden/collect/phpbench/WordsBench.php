<?php

namespace Shop;

/**
 * @Revs(200)
 * @Iterations(8)
 * @Warmup(1)
 */
class WordsBench
{
    public function benchSplit(): void
    {
        explode(' ', str_repeat('word ', 100));
    }

    /**
     * @ParamProviders({"provideSizes"})
     * @OutputTimeUnit("milliseconds")
     */
    public function benchSort(array $params): void
    {
        $numbers = range($params['size'], 1);
        sort($numbers);
    }

    public function provideSizes(): array
    {
        return ['small' => ['size' => 10], 'large' => ['size' => 1000]];
    }

    /** @Revs(1) @Iterations(1) */
    public function benchBroken(): void
    {
        throw new \RuntimeException('no such <device>');
    }
}
