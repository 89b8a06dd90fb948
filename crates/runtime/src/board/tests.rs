//! Compares the board, which finds the least of many words, with a plain list of words. Its minimum per
//! group is tested under threads and under loom.

#[cfg(not(loom))]
mod plain {
    use thalweg_model::{Entropy, SeededEntropy};

    use super::super::*;

    /// After any sequence of changes, the least word that the board finds is the least word of a plain
    /// list. Boards with one group of words and with several are tested.
    #[test]
    fn the_least_is_found() {
        for count in [1, 5, 64, 65, 300] {
            let mut entropy = SeededEntropy::new(count as u64);
            let (board, mut list) = (Board::new(count), vec![NOTHING; count]);
            board.cover(count);
            for _ in 0..5_000 {
                let index = entropy.below(count as u64) as usize;
                let word = if entropy.below(3) == 0 { NOTHING } else { entropy.below(50) };
                board.set(index, word);
                list[index] = word;
                let least = list.iter().min().copied().filter(|&word| word != NOTHING);
                assert_eq!(board.least().map(|least| least.word), least);
                assert!(board.least().is_none_or(|least| list[least.index] == least.word));
                let but = board.least().map(|least| least.index);
                let second = list.iter().enumerate().filter(|(index, _)| Some(*index) != but);
                let second = second.map(|(_, word)| *word).min().filter(|&word| word != NOTHING);
                assert_eq!(board.least_but(but.as_slice()).map(|least| least.word), second);
            }
        }
    }

    /// Words that were written while the board had one group of words are found after the board has grown
    /// to more groups.
    #[test]
    fn covering_more_forgets_nothing() {
        let board = Board::new(200);
        board.set(3, 7);
        assert_eq!(board.least(), Some(Least { index: 3, word: 7 }));
        board.cover(200);
        assert_eq!(board.least(), Some(Least { index: 3, word: 7 }));
        board.set(199, 5);
        assert_eq!(board.least(), Some(Least { index: 199, word: 5 }));
        board.set(3, NOTHING);
        board.set(199, NOTHING);
        assert_eq!(board.least(), None);
    }

    #[test]
    fn words_up_to_one_are_visited_and_the_next_is_told() {
        let board = Board::new(300);
        board.cover(300);
        [(1, 5), (2, 3), (70, 1), (299, 9)].into_iter().for_each(|(index, word)| board.set(index, word));
        let visited = |word| {
            let mut places = Vec::new();
            (board.visit_up_to(word, |place| places.push(place)), places)
        };
        assert_eq!(visited(0), (1, vec![]));
        assert_eq!(visited(3), (5, vec![2, 70]));
        assert_eq!(visited(9), (NOTHING, vec![1, 2, 70, 299]));
    }

    #[test]
    fn the_least_of_a_neighbourhood_can_be_chosen() {
        let board = Board::new(100);
        board.cover(100);
        [(1, 5), (2, 3), (70, 1)].into_iter().for_each(|(index, word)| board.set(index, word));
        assert_eq!(board.least_near(5, |_, _| true), Some(Least { index: 2, word: 3 }));
        assert_eq!(board.least_near(5, |index, _| index != 2), Some(Least { index: 1, word: 5 }));
        assert_eq!(board.least_near(5, |_, word| word > 9), None);
    }
}

#[cfg(loom)]
mod model {
    use loom::thread;
    use thalweg_memory::sync::Arc;

    use super::super::*;

    /// Two words of one group change at the same time: one rises and one falls. When both writes have
    /// returned, the stored minimum of the group is correct.
    #[test]
    fn tops_agree_with_their_leaves_in_the_end() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(2));
        builder.check(|| {
            // The second group of words stays empty. It exists because minimums per group are kept only if
            // there are at least two groups.
            let board = Arc::new(Board::new(4));
            board.set(0, 2);
            board.cover(4);
            let other = Arc::clone(&board);
            let lowering = thread::spawn(move || other.set(1, 3));
            board.set(0, NOTHING);
            lowering.join().unwrap();
            assert_eq!(board.least(), Some(Least { index: 1, word: 3 }));
        });
    }

    /// One thread changes a word while another makes the board begin to keep minimums per group. Afterwards
    /// the minimum of the group includes the changed word.
    #[test]
    fn covering_more_misses_no_leaf() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(2));
        builder.check(|| {
            let board = Arc::new(Board::new(4));
            let other = Arc::clone(&board);
            let covering = thread::spawn(move || other.cover(4));
            board.set(0, 5);
            covering.join().unwrap();
            assert_eq!(board.least(), Some(Least { index: 0, word: 5 }));
        });
    }

    /// Two words of one group fall at the same time: afterwards the stored minimum of the group is the
    /// lesser of the two.
    #[test]
    fn the_lesser_of_two_is_on_top() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(2));
        builder.check(|| {
            let board = Arc::new(Board::new(4));
            board.set(0, 9);
            board.cover(4);
            let other = Arc::clone(&board);
            let lowering = thread::spawn(move || other.set(1, 3));
            board.set(0, 5);
            lowering.join().unwrap();
            assert_eq!(board.least(), Some(Least { index: 1, word: 3 }));
        });
    }
}
