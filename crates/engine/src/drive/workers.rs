//! Threads that carry out work. A thread that is done waits for more, since starting one takes a while.

use std::io;
use std::sync::mpsc::{SendError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

type Work = Box<dyn FnOnce() + Send>;

/// As many threads as have ever been needed at once. They end when this is dropped.
#[derive(Default)]
pub(super) struct Workers {
    free: Arc<Mutex<Vec<Sender<Work>>>>,
}

impl Workers {
    pub(super) fn give(&self, work: Work) -> io::Result<()> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(work) = (match free {
            // If the thread is gone, the work comes back.
            Some(worker) => worker.send(work).err().map(|SendError(work)| work),
            None => Some(work),
        }) else {
            return Ok(());
        };
        let all = Arc::downgrade(&self.free);
        let wait = move || {
            let (sender, next) = channel();
            all.upgrade()?.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
            next.recv().ok()
        };
        let worker = move || {
            let mut work = Some(work);
            while let Some(now) = work {
                now();
                work = wait();
            }
        };
        thread::Builder::new().name("worker".to_owned()).spawn(worker).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashSet;
    use std::thread::ThreadId;

    use super::*;

    /// Reports the end of its thread.
    struct End(Sender<ThreadId>);

    impl Drop for End {
        fn drop(&mut self) {
            let _ = self.0.send(thread::current().id());
        }
    }

    thread_local! {
        static END: Cell<Option<End>> = const { Cell::new(None) };
    }

    #[test]
    fn one_that_is_done_is_given_the_next_and_ends_with_its_master() {
        let workers = Workers::default();
        let (tell, ended) = channel();
        let (done, told) = channel();
        let mut who = HashSet::new();
        for _ in 0..3 {
            let (tell, done) = (tell.clone(), done.clone());
            let work = move || {
                END.set(Some(End(tell)));
                let _ = done.send(thread::current().id());
            };
            workers.give(Box::new(work)).expect("a thread");
            who.insert(told.recv().expect("it was done"));
            while workers.free.lock().expect("no holder of the lock panics").is_empty() {
                thread::yield_now();
            }
        }
        assert_eq!(who.len(), 1);
        // What the first and the second left there is dropped by the next.
        assert_eq!(ended.try_iter().count(), 2);
        drop(workers);
        assert!(who.contains(&ended.recv().expect("its end")));
    }
}
