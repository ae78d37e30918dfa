import styles from './mark.module.css';

/** The sign and the name of the product. */
export const Mark = () => (
  <span className={styles.mark}>
    <img src={`${import.meta.env.BASE_URL}favicon.svg`} alt="" width={18} height={18} />
    Corral
  </span>
);
