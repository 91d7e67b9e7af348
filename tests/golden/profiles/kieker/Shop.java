package shop;

/** Four customers, each an order that reads one book or three; the third customer's order fails. */
public class Shop {
    public static void main(String[] arguments) throws InterruptedException {
        for (int customer = 0; customer < 4; customer++) {
            Thread thread = new Thread(new Customer(customer));
            thread.start();
            thread.join();
        }
    }

    static class Customer implements Runnable {
        private final int number;

        Customer(int number) {
            this.number = number;
        }

        @Override
        public void run() {
            try {
                order(number);
            } catch (IllegalStateException failure) {
                System.out.println(failure.getMessage());
            }
        }

        void order(int customer) {
            for (int book = 0; book < (customer % 2 == 0 ? 1 : 3); book++) {
                find(book);
            }
            if (customer == 2) {
                throw new IllegalStateException("sold out");
            }
        }

        private long find(int book) {
            long sum = 0;
            for (int shelf = 0; shelf < 20_000 * (book + 1); shelf++) {
                sum += shelf % 7;
            }
            return sum;
        }
    }
}
